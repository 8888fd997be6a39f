import { readObject, readText } from '../../records/fields.ts';
import type { JsonObject } from '../../rows.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { newMessage, newUsageRecord } from '../new-records.ts';
import {
  createReaderKit,
  parseJsonText,
  readType,
  type ToolVocabulary,
  toReportedCost,
  toUsageIfAny,
} from '../reader-kit.ts';
import type { MessageRecord, TranscriptRecord } from '../records.ts';

const TOOLS: ToolVocabulary = {
  read: ['readfile', 'read_file', 'listcodedefinitionnames'],
  edit: [
    'editedexistingfile',
    'newfilecreated',
    'appliediff',
    'applieddiff',
    'insertcontent',
    'searchandreplace',
    'filedeleted',
  ],
  shell: ['execute_command'],
  search: ['listfilestoplevel', 'listfilesrecursive', 'searchfiles', 'codebasesearch'],
  web: ['webfetch', 'websearch', 'browser_action'],
  agent: ['newtask', 'subagent'],
  skill: ['skill', 'useskill'],
  plan: ['updatetodolist', 'switchmode', 'finishtask', 'summarizetask'],
  mcp: ['use_mcp_server'],
  question: ['followup'],
};

/** Messages of the extension about itself. */
const BOOKKEEPING = new Set(
  `api_req_finished api_req_retried api_req_retry_delayed api_req_rate_limit_wait api_req_deleted api_req_failed
  checkpoint_created checkpoint_saved shell_integration_warning shell_integration_warning_with_suggestion
  mcp_server_request_started mcp_server_response mcp_notification task_progress load_mcp_documentation
  browser_action_launch browser_action_result browser_session_status inspect_site deleted_api_reqs clineignore_error
  rooignore_error diff_error codebase_search_result subtask_result condense_context_error sliding_window_truncation
  user_edit_todos command_permission_denied hook_status hook_output_stream info generate_explanation
  conditional_rules_applied use_subagents use_mcp_server resume_task resume_completed_task completion_result
  auto_approval_max_req_reached mistake_limit_reached new_task condense report_bug summarize_task act_mode_respond
  plan_mode_respond image error_retry too_many_tools_warning followup tool_error`.split(/\s+/),
);

/**
 * Reads `ui_messages.json` of a task of Cline, Roo Code or Kilo Code: what the panel shows, with tokens and cost of
 * each request.
 */
export function createClineReader(
  context: ReaderContext,
  state = { hasPrompt: false, model: null as string | null },
): Reader {
  const kit = createReaderKit(context, TOOLS);

  /**
   * `{"request":"…","tokensIn":10,"tokensOut":20,"cacheWrites":0,"cacheReads":0,"cost":0.01}`, completed when the
   * request ends.
   */
  const readRequest = (text: string, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const request = readObject(parseJsonText(text));
    if (request === undefined) return [];
    const cacheReadTokens = kit.toCount(request, 'cacheReads');
    const cacheWriteTokens = kit.toCount(request, 'cacheWrites');
    const input = kit.toCount(request, 'tokensIn');
    const isTotal = request.apiProtocol === 'openai' && input >= cacheReadTokens + cacheWriteTokens;
    const outputTokens = kit.toCount(request, 'tokensOut');
    const inputTokens = isTotal ? input - cacheReadTokens - cacheWriteTokens : input;
    const usage = toUsageIfAny({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens });
    if (usage === undefined) return [];
    const { timestampMs } = base;
    const responseId = `cline/${context.sessionId ?? ''}/${timestampMs ?? ''}`;
    const reportedCostUsd = toReportedCost(kit.toDollars(request, 'cost'));
    return [
      newUsageRecord({ usage, responseId, reportedCostUsd, model: state.model, timestampMs, stopReason: 'stop' }),
    ];
  };

  const toCall = (name: string, input: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const blocks = kit.toToolUseBlocks({ id: null, name, input });
    return [newMessage('assistant', { ...base, model: state.model, blocks })];
  };

  const toPrompt = (text: string, base: Partial<MessageRecord>): TranscriptRecord[] => {
    state.hasPrompt = true;
    const { timestampMs } = base;
    return kit.toPromptRecords(text, base, `${context.sessionId ?? ''}/${timestampMs ?? ''}`);
  };

  const readSaid = (type: string, text: string, base: Partial<MessageRecord>): TranscriptRecord[] | undefined => {
    const { model } = state;
    switch (type) {
      case 'task':
      case 'user_feedback':
      case 'user_feedback_diff':
        return toPrompt(text, base);
      case 'text':
        // The first text is the task.
        if (!state.hasPrompt) return toPrompt(text, base);
        return text === '' ? [] : [newMessage('assistant', { ...base, model, blocks: kit.toBlocks(text) })];
      case 'reasoning':
        return [
          newMessage('assistant', { ...base, model, blocks: kit.toBlocks([{ type: 'thinking', thinking: text }]) }),
        ];
      case 'api_req_started':
        return readRequest(text, base);
      case 'tool': {
        const { tool, ...input } = readObject(parseJsonText(text)) ?? {};
        return toCall(readText(tool) ?? 'unknown', input, base);
      }
      case 'command':
        return toCall('execute_command', { command: text }, base);
      case 'command_output':
        return text === ''
          ? []
          : [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: kit.toBlocks(text) })];
      case 'browser_action':
        return toCall('browser_action', readObject(parseJsonText(text)) ?? {}, base);
      case 'error':
        return [kit.toEvent({ kind: 'api_error', name: null, details: {} }, null, base.timestampMs)];
      case 'condense_context':
        return [kit.toEvent({ kind: 'compaction', name: null, details: {} }, null, base.timestampMs)];
      default:
        return BOOKKEEPING.has(type) ? readShown(type, text, base) : undefined;
    }
  };

  /** Texts that the agent shows in other message types, and what it asks. */
  const readShown = (type: string, text: string, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const isSaid = /^(?:completion_result|plan_mode_respond|act_mode_respond|followup)$/.test(type);
    if (!isSaid || text === '') return [];
    const fields = readObject(parseJsonText(text));
    const said = readText(fields?.response) ?? readText(fields?.question) ?? text;
    return [newMessage('assistant', { ...base, model: state.model, blocks: kit.toBlocks(said) })];
  };

  return {
    state,
    read(line) {
      const isAsk = line.type === 'ask';
      const type = readType(isAsk ? line.ask : line.say);
      if (type === undefined) return { type, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.ts);
      const text = readText(line.text) ?? '';
      state.model = kit.toId(readObject(line.modelInfo)?.modelId) ?? state.model;
      // A tool or command that asks for approval is repeated once approved, or not at all.
      const isPartial = line.partial === true || (isAsk && type === 'completion_result');
      const records = isPartial
        ? []
        : readSaid(isAsk && type === 'command_output' ? 'command_output' : type, text, { timestampMs });
      return { type, timestampMs, records: records ?? [{ kind: 'unknown', type, name: type }] };
    },
  };
}
