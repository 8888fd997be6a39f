import { isJsonObject } from '../records/fields.ts';
import type { JsonObject, JsonValue } from '../rows.ts';

/** Transcript and stream formats that recount can tell apart; it ingests `claude-code` and `claude-stream-json`. */
export type TranscriptFormat =
  | 'claude-code'
  | 'claude-stream-json'
  | 'codex-rollout'
  | 'codex-exec'
  | 'amp-stream-json'
  | 'copilot-cli'
  | 'cursor-stream-json'
  | 'gemini-stream-json'
  | 'opencode-json';

const CODEX_ROLLOUT_TYPES = new Set(['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted']);
const OPENCODE_TYPES = new Set(['step_start', 'text', 'tool_use', 'step_finish', 'error']);
const STREAM_TYPES = new Set(['system', 'user', 'assistant', 'result', 'stream_event']);
const CLAUDE_CODE_ONLY_TYPES = new Set(['summary', 'file-history-snapshot', 'queue-operation', 'progress']);

/** The format that a line's fields give away, or undefined where they fit several. */
export function detectFormat(line: JsonValue): TranscriptFormat | undefined {
  if (!isJsonObject(line)) return undefined;
  const type = typeof line.type === 'string' ? line.type : '';
  if (typeof line.sessionId === 'string' || ('parentUuid' in line && 'uuid' in line)) return 'claude-code';
  if (CODEX_ROLLOUT_TYPES.has(type) && isJsonObject(line.payload)) return 'codex-rollout';
  if (/^(thread|turn|item)\./.test(type)) return 'codex-exec';
  if (/^(session|user|assistant|tool|hook)\./.test(type) && isJsonObject(line.data)) return 'copilot-cli';
  if (OPENCODE_TYPES.has(type) && typeof line.sessionID === 'string') return 'opencode-json';
  if (typeof line.session_id === 'string') return detectStreamFormat(line, type);
  return CLAUDE_CODE_ONLY_TYPES.has(type) ? 'claude-code' : undefined;
}

function detectStreamFormat(line: JsonObject, type: string): TranscriptFormat | undefined {
  if (type === 'init' && 'model' in line) return 'gemini-stream-json';
  if (!STREAM_TYPES.has(type)) return undefined;
  if (String(line.session_id).startsWith('T-')) return 'amp-stream-json';
  if (type === 'system' && line.subtype === 'init' && !('tools' in line)) return 'cursor-stream-json';
  return 'claude-stream-json';
}
