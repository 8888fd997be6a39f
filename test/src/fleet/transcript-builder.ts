import type { EventFact, EventKind, PlannedUsage, ResponseFact, SessionFact, ToolCallFact } from './facts.ts';
import { priceByHand } from './known-prices.ts';

/** What the facts of a fleet are collected in, and ids are taken from. */
export interface FleetLedger {
  responses: Map<string, ResponseFact>;
  toolCalls: Map<string, ToolCallFact>;
  events: Map<string, EventFact>;
  nextNumber(): number;
}

export interface SessionPlan {
  sessionId: string;
  project: string;
  branch: string;
  version: string;
  startMs: number;
  /** Of a sub-agent's own transcript. */
  agentId?: string;
  parentId?: string;
}

export interface PlannedTool {
  name: string;
  input: Record<string, unknown>;
  /** Facts that the input implies, written down beside it. */
  facts?: Partial<Pick<ToolCallFact, 'mcpServer' | 'program' | 'filePath' | 'subagentType' | 'skill'>>;
  /** Left out: no result ever comes. */
  result?: { text: string; afterMs: number; isError?: boolean; isDenied?: boolean; agentId?: string };
}

export interface PlannedResponse {
  model: string | null;
  usage: PlannedUsage;
  text: string;
  tools?: PlannedTool[];
  /** The transcript never holds the final output count: `usage.output` is the placeholder. */
  isUnfinalised?: boolean;
  isSidechain?: boolean;
}

export interface TranscriptBuilder {
  plan: SessionPlan;
  wait(ms: number): void;
  nowMs(): number;
  prompt(text: string): void;
  respond(response: PlannedResponse): void;
  /** A sub-agent's response that only a progress line tells of. */
  progress(response: Pick<PlannedResponse, 'model' | 'usage'>, agentId: string): void;
  compact(trigger: 'auto' | 'manual', preTokens: number): void;
  retry(attempt: number, retryInMs: number): void;
  apiError(text: string): void;
  linkPullRequest(repository: string, number: number): void;
  slashCommand(name: string): void;
  reportCost(units: number): void;
  /** A new transcript that begins with a copy of all messages so far, and says so. */
  fork(plan: SessionPlan): TranscriptBuilder;
  /** Another version of the same session, that goes on from here in a way of its own. */
  diverge(): TranscriptBuilder;
  toText(): string;
  toSessionFact(): SessionFact;
}

type Line = Record<string, unknown>;

interface BuilderState {
  lines: Line[];
  nowMs: number;
  previousUuid: string | null;
  awaitsAnswer: boolean;
  responses: Set<ResponseFact>;
  fact: Pick<SessionFact, 'messages' | 'promptCount' | 'turnCount' | 'reportedUnits'>;
}

const pad = (number: number, length: number): string => String(number).padStart(length, '0');

export function createTranscriptBuilder(
  ledger: FleetLedger,
  plan: SessionPlan,
  start: BuilderState = createState(plan.startMs),
): TranscriptBuilder {
  const state = start;
  const isSubagentFile = plan.agentId !== undefined;
  const ownId = isSubagentFile ? `${plan.parentId}:${plan.agentId}` : plan.sessionId;

  const nextUuid = (): string => `00000000-0000-4000-8000-${pad(ledger.nextNumber(), 12)}`;
  const envelope = (isSidechain = false): Line => {
    const uuid = nextUuid();
    const parentUuid = state.previousUuid;
    state.previousUuid = uuid;
    return {
      parentUuid,
      isSidechain: isSidechain || isSubagentFile,
      ...(isSubagentFile && { agentId: plan.agentId }),
      cwd: plan.project,
      sessionId: isSubagentFile ? plan.parentId : plan.sessionId,
      version: plan.version,
      gitBranch: plan.branch,
      uuid,
      timestamp: new Date(state.nowMs).toISOString(),
    };
  };
  const note = (isUser: boolean, model: string | null, isSidechain = false): void => {
    state.fact.messages.push({ atMs: state.nowMs, isUser, model, isSubagent: isSidechain || isSubagentFile });
  };
  const addEvent = (kind: EventKind, key: string, name: string | null, details: EventFact['details'] = {}): void => {
    const event = { key, kind, sessionId: ownId, atMs: state.nowMs, isSubagent: isSubagentFile, name, details };
    ledger.events.set(`${kind} ${key}`, event);
  };
  const addUser = (content: unknown, fields: Line = {}, isSidechain = false): Line => {
    const line = { ...envelope(isSidechain), type: 'user', message: { role: 'user', content }, ...fields };
    state.lines.push(line);
    note(true, null, isSidechain);
    return line;
  };
  const addResponse = (key: string, response: PlannedResponse, isSubagent: boolean): void => {
    const { model, usage } = response;
    const fact: ResponseFact = {
      key,
      model,
      usage,
      ...priceByHand(model, usage),
      atMs: state.nowMs,
      sessionId: ownId,
      holders: new Set([ownId]),
      isSubagent,
      branch: plan.branch,
      version: plan.version,
      estimatedOutput: null,
    };
    ledger.responses.set(key, fact);
    state.responses.add(fact);
  };
  const answerTools = (
    tools: readonly (PlannedTool & { id: string; startMs: number })[],
    isSidechain: boolean,
  ): void => {
    for (const { id, startMs, result } of tools) {
      if (result === undefined) continue;
      state.nowMs = Math.max(state.nowMs, startMs + result.afterMs);
      const content = [
        { tool_use_id: id, type: 'tool_result', content: result.text, ...(result.isError && { is_error: true }) },
      ];
      addUser(content, result.agentId === undefined ? {} : { toolUseResult: { agentId: result.agentId } }, isSidechain);
      const fact = ledger.toolCalls.get(id);
      if (fact === undefined) continue;
      fact.durationMs = state.nowMs - startMs;
      fact.isError = result.isError ?? false;
      fact.isDenied = result.isDenied ?? false;
      fact.outputBytes = Buffer.byteLength(result.text);
      fact.subagentSessionId = result.agentId === undefined ? null : `${ownId}:${result.agentId}`;
    }
  };

  const builder: TranscriptBuilder = {
    plan,
    wait(ms) {
      state.nowMs += ms;
    },
    nowMs: () => state.nowMs,
    prompt(text) {
      const { uuid } = addUser(text);
      if (isSubagentFile) return;
      addEvent('prompt', String(uuid), null);
      state.fact.promptCount++;
      state.awaitsAnswer = true;
    },
    respond(response) {
      const { model, usage, text, tools = [], isUnfinalised = false, isSidechain = false } = response;
      const number = ledger.nextNumber();
      const messageId = `msg_01${pad(number, 22)}`;
      addResponse(messageId, response, isSidechain || isSubagentFile);
      note(false, model, isSidechain);
      if (state.awaitsAnswer && !isSidechain) {
        state.fact.turnCount++;
        state.awaitsAnswer = false;
      }
      const calls = tools.map((tool) => ({ ...tool, id: `toolu_01${pad(ledger.nextNumber(), 20)}`, startMs: 0 }));
      const blocks: Line[] = [
        { type: 'text', text },
        ...calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
      ];
      let contentBytes = Buffer.byteLength(text);
      for (const [index, block] of blocks.entries()) {
        const isLast = index === blocks.length - 1;
        // As streaming leaves it: all lines but the last hold a placeholder.
        const output = isLast || isUnfinalised ? usage.output : Math.min(usage.output, 1 + (index % 3));
        if (index > 0) state.nowMs += 250;
        state.lines.push({
          ...envelope(isSidechain),
          type: 'assistant',
          requestId: `req_011${pad(number, 21)}`,
          message: {
            id: messageId,
            type: 'message',
            role: 'assistant',
            ...(model !== null && { model }),
            content: [block],
            stop_reason: isLast && !isUnfinalised ? 'end_turn' : null,
            usage: toUsageLine(usage, output),
          },
        });
        const call = calls[index - 1];
        if (call === undefined) continue;
        call.startMs = state.nowMs;
        contentBytes += Buffer.byteLength(JSON.stringify(call.input));
        ledger.toolCalls.set(call.id, toCallFact(call, ownId, model, state.nowMs, isSidechain || isSubagentFile));
      }
      const fact = ledger.responses.get(messageId);
      if (fact !== undefined && isUnfinalised) {
        fact.estimatedOutput = Math.max(usage.output, Math.floor(contentBytes / 4));
      }
      answerTools(calls, isSidechain);
    },
    progress({ model, usage }, agentId) {
      const number = ledger.nextNumber();
      const messageId = `msg_01${pad(number, 22)}`;
      const line = envelope();
      state.lines.push({
        ...line,
        type: 'progress',
        data: {
          type: 'agent_progress',
          agentId,
          message: {
            type: 'assistant',
            uuid: nextUuid(),
            requestId: `req_011${pad(number, 21)}`,
            timestamp: line.timestamp,
            message: {
              id: messageId,
              role: 'assistant',
              model,
              content: [{ type: 'text', text: 'Looking.' }],
              stop_reason: 'end_turn',
              usage: toUsageLine(usage, usage.output),
            },
          },
        },
      });
      addResponse(messageId, { model, usage, text: '' }, true);
    },
    compact(trigger, preTokens) {
      const line = envelope();
      const compactMetadata = { trigger, preTokens };
      state.lines.push({
        ...line,
        type: 'system',
        subtype: 'compact_boundary',
        content: 'Conversation compacted',
        level: 'info',
        compactMetadata,
      });
      note(false, null);
      addEvent('compaction', String(line.uuid), trigger, { preTokens });
    },
    retry(attempt, retryInMs) {
      const line = envelope();
      const fields = { error: { status: 529 }, retryInMs, retryAttempt: attempt, maxRetries: 10 };
      state.lines.push({ ...line, type: 'system', subtype: 'api_error', level: 'error', ...fields });
      note(false, null);
      addEvent('api_retry', String(line.uuid), '529', { retryInMs, retryAttempt: attempt, maxRetries: 10 });
    },
    apiError(text) {
      const line = envelope();
      state.lines.push({
        ...line,
        type: 'assistant',
        isApiErrorMessage: true,
        apiErrorStatus: 500,
        message: {
          id: line.uuid,
          role: 'assistant',
          model: '<synthetic>',
          stop_reason: 'stop_sequence',
          content: [{ type: 'text', text }],
          usage: toUsageLine(
            { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, webSearches: 0 },
            0,
          ),
        },
      });
      note(false, '<synthetic>');
      addEvent('api_error', String(line.uuid), '500');
    },
    linkPullRequest(repository, number) {
      const prUrl = `https://github.com/${repository}/pull/${number}`;
      const timestamp = new Date(state.nowMs).toISOString();
      const link = { prNumber: number, prUrl, prRepository: repository };
      state.lines.push({ type: 'pr-link', sessionId: plan.sessionId, ...link, timestamp });
      addEvent('pull_request', `${ownId} ${prUrl}`, prUrl, { number, repository });
    },
    slashCommand(name) {
      const content = `<command-name>${name}</command-name>\n<command-message>x</command-message>\n<command-args></command-args>`;
      const { uuid } = addUser(content);
      addEvent('slash_command', String(uuid), name);
    },
    reportCost(units) {
      state.lines.push({ type: 'cost-state', sessionId: plan.sessionId, totalCostUSD: units / 1e10, modelUsage: {} });
      state.fact.reportedUnits = units;
    },
    fork(forkPlan) {
      for (const response of state.responses) response.holders.add(forkPlan.sessionId);
      const lines = state.lines.filter(({ uuid }) => uuid !== undefined);
      const copies = lines.map((line) => ({
        ...line,
        sessionId: forkPlan.sessionId,
        forkedFrom: { sessionId: plan.sessionId, messageUuid: line.uuid },
      }));
      const forked = { ...copyState(state), lines: copies, nowMs: forkPlan.startMs };
      return createTranscriptBuilder(ledger, forkPlan, forked);
    },
    diverge: () => createTranscriptBuilder(ledger, plan, copyState(state)),
    toText: () => state.lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    toSessionFact() {
      const times = state.lines.flatMap(({ timestamp }) =>
        typeof timestamp === 'string' ? [Date.parse(timestamp)] : [],
      );
      return {
        ...state.fact,
        id: ownId,
        parentId: plan.parentId ?? null,
        // Of the first line, which a fork has from its origin.
        project: String(state.lines[0]?.cwd),
        branch: String(state.lines[0]?.gitBranch),
        version: String(state.lines[0]?.version),
        firstMs: Math.min(...times),
        lastMs: Math.max(...times),
        responses: [...state.responses],
      };
    },
  };
  return builder;
}

function createState(startMs: number): BuilderState {
  return {
    lines: [],
    nowMs: startMs,
    previousUuid: null,
    awaitsAnswer: false,
    responses: new Set(),
    fact: { messages: [], promptCount: 0, turnCount: 0, reportedUnits: null },
  };
}

function copyState(state: BuilderState): BuilderState {
  return {
    ...state,
    lines: [...state.lines],
    responses: new Set(state.responses),
    fact: { ...state.fact, messages: [...state.fact.messages], reportedUnits: null },
  };
}

function toUsageLine(usage: PlannedUsage, output: number): Line {
  return {
    input_tokens: usage.input,
    output_tokens: output,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWrite5m,
      ephemeral_1h_input_tokens: usage.cacheWrite1h,
    },
    ...(usage.webSearches > 0 && { server_tool_use: { web_search_requests: usage.webSearches } }),
    service_tier: 'standard',
  };
}

function toCallFact(
  { id, name, input, facts = {} }: PlannedTool & { id: string },
  sessionId: string,
  model: string | null,
  atMs: number,
  isSubagent: boolean,
): ToolCallFact {
  return {
    key: id,
    sessionId,
    model,
    atMs,
    isSubagent,
    name,
    mcpServer: null,
    program: null,
    filePath: null,
    subagentType: null,
    subagentSessionId: null,
    skill: null,
    ...facts,
    durationMs: null,
    isError: null,
    isDenied: false,
    inputBytes: Buffer.byteLength(JSON.stringify(input)),
    outputBytes: null,
  };
}
