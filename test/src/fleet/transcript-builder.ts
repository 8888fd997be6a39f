import type { ResponseFact, SessionFact } from './facts.ts';
import * as lines from './lines.ts';
import type { FleetLedger, PlannedResponse, SessionPlan } from './plan.ts';
import { copyState, createScribe, createState, type SessionState, toSessionId } from './session-state.ts';
import { writeResponse } from './write-response.ts';

/** Writes a transcript together with its facts. Each step is at the time set by `wait`. */
export interface TranscriptBuilder {
  plan: SessionPlan;
  wait(ms: number): void;
  nowMs(): number;
  prompt(text: string): void;
  respond(response: PlannedResponse): void;
  /** A sub-agent's response that only a progress line reports. */
  progress(response: Pick<PlannedResponse, 'model' | 'usage'>, agentId: string): void;
  /** A progress line about a response that is in the sub-agent's own transcript. */
  replay(response: ResponseFact, agentId: string): void;
  compact(trigger: 'auto' | 'manual', preTokens: number): void;
  retry(attempt: number, retryInMs: number): void;
  apiError(): void;
  linkPullRequest(repository: string, number: number): void;
  /** A command that operates the program, and so is not a prompt. */
  slashCommand(name: string): void;
  reportCost(units: number): void;
  /** A new transcript that begins with a copy of all messages so far, marked as such. */
  fork(plan: SessionPlan): TranscriptBuilder;
  /** Another version of the same session, which continues differently from here. */
  diverge(): TranscriptBuilder;
  toText(): string;
  toSessionFact(): SessionFact;
}

const OVERLOADED = 529;
const FAILED = 500;

export function createTranscriptBuilder(
  ledger: FleetLedger,
  plan: SessionPlan,
  state: SessionState = createState(plan.startMs),
): TranscriptBuilder {
  const scribe = createScribe(ledger, plan, state);
  const ownId = toSessionId(plan);
  const isSubagentFile = plan.agentId !== undefined;
  const note = (line: lines.Line, isUser = false, model: string | null = null): lines.Line =>
    scribe.write(line, { message: { isUser, model } });
  const writeUser = (content: string): void => {
    note({ type: 'user', message: { role: 'user', content } }, true);
  };
  const writeProgress = (
    key: string,
    { model, usage }: Pick<PlannedResponse, 'model' | 'usage'>,
    agentId: string,
  ): void => {
    const line = lines.toAssistantLine({
      messageId: key,
      requestId: key.replace('msg_01', 'req_011'),
      model,
      block: { type: 'text', text: 'Looking.' },
      usage: lines.toUsageLine(usage),
      stopReason: 'end_turn',
    });
    const uuid = lines.toUuid(ledger.nextNumber());
    scribe.write(lines.toProgressLine(agentId, uuid, new Date(state.nowMs).toISOString(), line));
  };

  return {
    plan,
    wait(ms) {
      state.nowMs += ms;
    },
    nowMs: () => state.nowMs,
    prompt(text) {
      writeUser(text);
      if (isSubagentFile) return;
      scribe.noteEvent('prompt', null);
      state.fact.promptCount++;
      state.awaitsAnswer = true;
    },
    respond: (response) => writeResponse(ledger, plan, state, scribe, response),
    progress(response, agentId) {
      const key = lines.toMessageId(ledger.nextNumber());
      writeProgress(key, response, agentId);
      scribe.noteResponse(key, response, { isSubagent: true, agentId });
    },
    replay(response, agentId) {
      writeProgress(response.key, response, agentId);
      response.holders.add(ownId);
      state.responses.add(response);
    },
    compact(trigger, preTokens) {
      note(lines.toCompactionLine(trigger, preTokens));
      scribe.noteEvent('compaction', trigger, { preTokens });
    },
    retry(attempt, retryInMs) {
      note(lines.toRetryLine(OVERLOADED, retryInMs, attempt));
      scribe.noteEvent('api_retry', String(OVERLOADED), { retryInMs });
    },
    apiError() {
      note(lines.toApiErrorLine(`error-${ledger.nextNumber()}`, FAILED), false, '<synthetic>');
      scribe.noteEvent('api_error', String(FAILED));
    },
    linkPullRequest(prRepository, prNumber) {
      const prUrl = `https://github.com/${prRepository}/pull/${prNumber}`;
      const timestamp = new Date(state.nowMs).toISOString();
      state.lines.push({ type: 'pr-link', sessionId: plan.sessionId, prNumber, prUrl, prRepository, timestamp });
      if (state.linkedUrls.has(prUrl)) return;
      state.linkedUrls.add(prUrl);
      scribe.noteEvent('pull_request', prUrl, { number: prNumber, repository: prRepository });
    },
    slashCommand(name) {
      writeUser(
        `<command-name>${name}</command-name>\n<command-message>x</command-message>\n<command-args></command-args>`,
      );
      scribe.noteEvent('slash_command', name);
    },
    reportCost(units) {
      state.lines.push({ type: 'cost-state', sessionId: plan.sessionId, totalCostUSD: units / 1e10, modelUsage: {} });
      state.fact.reportedUnits = units;
    },
    fork(forkPlan) {
      for (const response of state.responses) response.holders.add(forkPlan.sessionId);
      const copies = state.lines
        .filter(({ uuid }) => uuid !== undefined)
        .map((line) => ({
          ...line,
          sessionId: forkPlan.sessionId,
          forkedFrom: { sessionId: plan.sessionId, messageUuid: line.uuid },
        }));
      return createTranscriptBuilder(ledger, forkPlan, {
        ...copyState(state),
        lines: copies,
        linkedUrls: new Set(),
        nowMs: forkPlan.startMs,
      });
    },
    diverge: () => createTranscriptBuilder(ledger, plan, copyState(state)),
    toText: () => state.lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    toSessionFact: () => toSessionFact(plan, state),
  };
}

function toSessionFact(plan: SessionPlan, { lines: written, fact, responses }: SessionState): SessionFact {
  const times = written.flatMap(({ timestamp }) => (typeof timestamp === 'string' ? [Date.parse(timestamp)] : []));
  const [first = {}] = written;
  return {
    ...fact,
    id: toSessionId(plan),
    parentId: plan.parentId ?? null,
    // From the first line, which a fork has from its origin.
    project: String(first.cwd),
    branch: String(first.gitBranch),
    version: String(first.version),
    firstMs: Math.min(...times),
    lastMs: Math.max(...times),
    responses: [...responses],
  };
}
