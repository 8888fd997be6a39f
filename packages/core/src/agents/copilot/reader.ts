import { cutCharacters, isJsonObject, readObject, readText, toNumber } from '../../records/fields.ts';
import { toRepository } from '../../records/repository.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { newMessage, newUsageRecord } from '../new-records.ts';
import {
  createReaderKit,
  parseJsonText,
  readType,
  type ToolVocabulary,
  toCutTitle,
  toSessionRecord,
  toUsageIfAny,
} from '../reader-kit.ts';
import type { MessageRecord, SessionRecord, TranscriptRecord } from '../records.ts';

export const COPILOT_TOOLS: ToolVocabulary = {
  read: ['view', 'read', 'show_file'],
  edit: ['edit', 'create', 'str_replace_editor', 'str_replace', 'insert', 'apply_patch', 'write'],
  shell: [
    'bash',
    'read_bash',
    'write_bash',
    'stop_bash',
    'list_bash',
    'shell',
    'powershell',
    'read_powershell',
    'stop_powershell',
  ],
  search: ['grep', 'glob', 'rg', 'lsp'],
  web: ['web_fetch', 'web_search', 'fetch_copilot_cli_documentation'],
  agent: ['task', 'read_agent', 'list_agents', 'write_agent'],
  skill: ['skill'],
  plan: ['update_todo', 'report_intent', 'exit_plan_mode', 'sql', 'task_complete'],
  question: ['ask_user'],
};

/** Events that say nothing about messages, usage or the session. */
const BOOKKEEPING =
  /^(?:hook\.|permission\.|assistant\.(?:turn_|usage|intent|reasoning_delta|message_delta|streaming_delta|message_start|idle)|tool\.(?:execution_start|execution_progress|execution_partial_result|user_requested)|session\.(?:info|warning|idle|mode_changed|permissions_changed|auto_mode_resolved|usage_|snapshot|plan_changed|workspace_file_changed|context_changed|handoff|remote_steerable_changed|task_complete|binary_asset|background|tools_updated|skills_loaded|custom_agents_updated|mcp_|schedule_|extensions_)|subagent\.|skill\.|system\.notification|abort$|external_tool\.|command\.|elicitation\.|user_input\.|exit_plan_mode\.|sampling\.|mcp\.)/;

/** Tokens of one model, by class. */
interface Counts {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
}

interface CopilotReaderState {
  sessionId: string | null;
  model: string | null;
  branch: string | null;
  version: string | null;
  /** Messages' output tokens since the program started, by model: its total at the end includes them. */
  messageOutput: Map<string, number>;
  /** Tokens by model that the program's earlier totals have counted, since it started. */
  reported: Map<string, Counts>;
  /**
   * Messages since the program started whose input is in no total yet, and those of runs that ended without a total.
   */
  outputOnly: { thisRun: number; earlierRuns: number };
  /** Sum over all runs of the program, for the session's own total. */
  total: Counts;
}

const NO_COUNTS: Readonly<Counts> = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
const MAX_MODELS = 64;

function createState(): CopilotReaderState {
  return {
    ...{ sessionId: null, model: null, branch: null, version: null },
    ...{ messageOutput: new Map(), reported: new Map(), total: { ...NO_COUNTS } },
    outputOnly: { thisRun: 0, earlierRuns: 0 },
  };
}

/** The context has `owner/name`; newer versions add the host. */
const toAddress = (repository: string | null, host: string | null): string | null =>
  repository === null || host === null || repository.includes(':') ? repository : `https://${host}/${repository}`;

/**
 * Reads `events.jsonl` of a session of Copilot CLI. Messages state only their output tokens. Input and cache come with
 * `session.shutdown`, as totals by model for the whole run, from which the messages' counts are subtracted.
 */
export function createCopilotReader(context: ReaderContext, state = createState()): Reader {
  const kit = createReaderKit(context, COPILOT_TOOLS);

  const readContext = (data: JsonObject): TranscriptRecord[] => {
    const about = readObject(data.context);
    state.messageOutput.clear();
    state.reported.clear();
    state.outputOnly = { thisRun: 0, earlierRuns: state.outputOnly.earlierRuns + state.outputOnly.thisRun };
    state.sessionId = kit.toId(data.sessionId) ?? state.sessionId;
    state.model = kit.toId(data.selectedModel) ?? state.model;
    state.branch = kit.toId(about?.branch) ?? state.branch;
    state.version = kit.toId(data.copilotVersion) ?? state.version;
    const { sessionId, branch: gitBranch, version } = state;
    const repository = toRepository(toAddress(kit.toId(about?.repository), kit.toId(about?.repositoryHost)));
    const commitHash = kit.toId(about?.headCommit);
    const facts = { sessionId, cwd: kit.toId(about?.cwd), gitBranch, repository, commitHash, version };
    return [toSessionRecord(facts) ?? []].flat();
  };

  const readAssistant = (data: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const model = kit.toId(data.model) ?? state.model;
    const thinking = readText(data.reasoningText);
    const calls = (Array.isArray(data.toolRequests) ? data.toolRequests : []).filter(isJsonObject);
    const blocks = [
      ...(thinking === null ? [] : kit.toBlocks([{ type: 'thinking', thinking }])),
      ...kit.toBlocks(data.content),
      ...calls.flatMap(({ toolCallId: id, name, arguments: input, mcpServerName }) =>
        kit.toToolUseBlocks({ id, name, input: toInput(input), mcpServer: readText(mcpServerName) }),
      ),
    ];
    const outputTokens = kit.toCount(data, 'outputTokens');
    const isKnown = state.messageOutput.has(model ?? '') || state.messageOutput.size < MAX_MODELS;
    if (isKnown) state.messageOutput.set(model ?? '', (state.messageOutput.get(model ?? '') ?? 0) + outputTokens);
    const usage = toUsageIfAny({ outputTokens });
    const message = newMessage('assistant', {
      ...{ ...base, model, blocks, usage, stopReason: 'stop', requestId: kit.toId(data.requestId) },
      responseId: kit.toId(data.apiCallId) ?? kit.toId(data.messageId),
      gitBranch: state.branch,
      agentVersion: state.version,
      // Its input is in the total at the end.
      metadata: usage === undefined ? {} : { usage_is_output_only: true },
    });
    if (usage === undefined) return [message];
    state.outputOnly.thisRun++;
    return [message, toOutputOnlyRecord()];
  };

  const toOutputOnlyRecord = (): SessionRecord => {
    const { thisRun, earlierRuns } = state.outputOnly;
    return { kind: 'session', outputOnlyCount: thisRun + earlierRuns };
  };

  const readResult = (data: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const { toolCallId: id, success } = data;
    const result = readObject(data.result);
    const error = readObject(data.error);
    const content = result?.content ?? error?.message ?? null;
    const isDenied = error?.code === 'denied' || error?.code === 'rejected';
    const source = { id, content: typeof content === 'object' ? null : content, isError: success === false, isDenied };
    return [kit.toToolResultMessage(source, base)];
  };

  const readPrompt = (data: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const source = readText(data.source);
    const isByUser = source === null || source === 'user';
    if (isByUser && base.isSidechain !== true) return kit.toPromptRecords(data.content, base, base.uuid ?? null);
    return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: kit.toBlocks(data.content) })];
  };

  /** `session.shutdown`: see createCopilotReader. Input includes cache reads and cache writes. */
  const readShutdown = (data: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const models = toModelCounts(data);
    const records = models.flatMap(([model, now]): TranscriptRecord[] => {
      const before = state.reported.get(model) ?? NO_COUNTS;
      const isGrown = now.input >= before.input && now.output >= before.output;
      const grown = isGrown ? subtract(now, before) : now;
      if (state.reported.size < MAX_MODELS || state.reported.has(model)) state.reported.set(model, now);
      for (const name of Object.keys(grown) as (keyof Counts)[]) state.total[name] += grown[name];
      const counted = Math.min(grown.output, state.messageOutput.get(model) ?? 0);
      state.messageOutput.set(model, (state.messageOutput.get(model) ?? 0) - counted);
      const usage = toUsageIfAny({
        inputTokens: Math.max(0, grown.input - grown.cacheRead - grown.cacheWrite),
        outputTokens: grown.output - counted,
        cacheReadTokens: grown.cacheRead,
        cacheWriteTokens: grown.cacheWrite,
        thinkingTokens: grown.reasoning,
      });
      if (usage === undefined) return [];
      const responseId = `copilot-shutdown/${base.uuid ?? state.sessionId ?? ''}/${base.timestampMs ?? ''}/${model}`;
      const { timestampMs } = base;
      const about = { model, timestampMs, gitBranch: state.branch, agentVersion: state.version };
      return [newUsageRecord({ responseId, usage, stopReason: 'stop', ...about })];
    });
    if (models.length === 0) return records;
    state.outputOnly.thisRun = 0;
    const { input, output, cacheRead, cacheWrite } = state.total;
    // Premium requests and AI units are not dollars.
    const tokens = { tokens_in: Math.max(0, input - cacheRead - cacheWrite), tokens_out: output };
    const caches = { cache_read: cacheRead, cache_write: cacheWrite };
    return [
      ...records,
      { ...toOutputOnlyRecord(), reportedTotals: { source: 'result', cost_usd: null, ...tokens, ...caches } },
    ];
  };

  const toModelCounts = (data: JsonObject): [string, Counts][] => {
    const metrics = Object.entries(readObject(data.modelMetrics) ?? {}).slice(0, MAX_MODELS);
    const counted = metrics.flatMap(([model, metric]): [string, Counts][] => {
      const usage = readObject(readObject(metric)?.usage);
      if (usage === undefined) return [];
      return [[cutCharacters(model, 200), toCounts((name) => kit.toCount(usage, `${name}Tokens`, 1e12))]];
    });
    const details = readObject(data.tokenDetails);
    const model = kit.toId(data.currentModel) ?? state.model;
    if (counted.length > 0 || details === undefined || model === null) return counted;
    // Totals without a breakdown by model; their classes do not overlap.
    const read = (name: string): number => kit.toCount(readObject(details[name]), 'tokenCount', 1e12);
    const caches = { cacheRead: read('cache_read'), cacheWrite: read('cache_write') };
    const input = read('input') + caches.cacheRead + caches.cacheWrite;
    return [[model, { input, output: read('output'), ...caches, reasoning: 0 }]];
  };

  const readEvent = (type: string, data: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] | undefined => {
    switch (type) {
      case 'session.start':
      case 'session.resume':
        return readContext(data);
      case 'session.model_change':
        state.model = kit.toId(data.newModel) ?? state.model;
        return [];
      case 'session.title_changed': {
        const title = readText(data.title);
        return title === null ? [] : [toCutTitle('generated', title)];
      }
      case 'user.message':
        return readPrompt(data, base);
      case 'assistant.message':
        return readAssistant(data, base);
      case 'assistant.reasoning':
        // The message that follows repeats it.
        return [];
      case 'tool.execution_complete':
        return readResult(data, base);
      case 'system.message':
        return [newMessage('system', { ...base, blocks: kit.toBlocks(data.content) })];
      case 'session.error': {
        const code = toNumber(data.statusCode);
        const name = code === undefined ? kit.toId(data.errorType) : String(code);
        return [kit.toEvent({ kind: 'api_error', name, details: {} }, base.uuid ?? null, base.timestampMs, base)];
      }
      case 'session.truncation':
      case 'session.compaction_complete': {
        const tokens = kit.toCount(
          data,
          type === 'session.truncation' ? 'preTruncationTokensInMessages' : 'preCompactionTokens',
        );
        const name = type === 'session.truncation' ? 'truncation' : null;
        const event = { kind: 'compaction', name, details: tokens > 0 ? { preTokens: tokens } : {} } as const;
        return [kit.toEvent(event, base.uuid ?? null, base.timestampMs, base)];
      }
      case 'session.compaction_start':
        return [];
      case 'session.shutdown':
        return readShutdown(data, base);
      default:
        return BOOKKEEPING.test(type) ? [] : undefined;
    }
  };

  return {
    state,
    read(line) {
      const type = readType(line.type);
      if (type === undefined) return { type, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.timestamp);
      const data = readObject(line.data) ?? {};
      const parentToolUseId = kit.toId(data.parentToolCallId);
      const isSidechain = parentToolUseId !== null;
      const place = { uuid: kit.toId(line.id), parentUuid: kit.toId(line.parentId), parentToolUseId, isSidechain };
      const records = readEvent(type, data, { ...place, timestampMs }) ?? [{ kind: 'unknown', type, name: type }];
      return { type, timestampMs, records };
    },
  };
}

/** Some versions write a call's arguments as JSON in a string. */
function toInput(value: JsonValue | undefined): JsonValue {
  return typeof value === 'string' ? (parseJsonText(value) ?? value) : (value ?? null);
}

function toCounts(read: (name: keyof Counts) => number): Counts {
  return {
    ...{ input: read('input'), output: read('output'), reasoning: read('reasoning') },
    ...{ cacheRead: read('cacheRead'), cacheWrite: read('cacheWrite') },
  };
}

function subtract(now: Counts, before: Counts): Counts {
  return toCounts((name) => Math.max(0, now[name] - before[name]));
}
