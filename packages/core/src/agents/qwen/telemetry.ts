import type { JsonObject } from '../../lines/json.ts';
import { readObject, readText } from '../../records/fields.ts';
import type { Usage } from '../../records/usage.ts';

/** `<session>#<agent>-<id>#<n>`; ids of the main loop have eight `#` in a row. */
const SUBAGENT_PROMPT = /^([^#]+)#([^#]+)#\d+$/;
const MAIN_PROMPT = '########';
/** A compression that the user asked for. */
const COMPRESSION_PROMPT = /^compress-\d+$/;

/** The event of a `ui_telemetry` line, with its name without the program's. */
export interface TelemetryEvent {
  name: string;
  fields: JsonObject;
  /** The sub-agent that made the request; null for the main loop, undefined for requests of the program itself. */
  agentId: string | null | undefined;
  /** The session of its origin, which copies of the line keep; null if the line does not name it. */
  sessionId: string | null;
  /** Set for a request of a compression, which no message shows. It is the id of the command. */
  compressionId: string | null;
}

export function toTelemetryEvent(payload: JsonObject | undefined): TelemetryEvent | undefined {
  const fields = readObject(payload?.uiEvent);
  const name = readText(fields?.['event.name']);
  if (fields === undefined || name === null) return undefined;
  const promptId = readText(fields.prompt_id) ?? '';
  const [, sessionId = null, agentId] = SUBAGENT_PROMPT.exec(promptId) ?? [];
  const compressionId = COMPRESSION_PROMPT.test(promptId) ? promptId : null;
  const loop = promptId.includes(MAIN_PROMPT) ? null : undefined;
  return { name: name.replace(/^qwen-code\./, ''), fields, agentId: agentId ?? loop, sessionId, compressionId };
}

/**
 * The name of a sub-agent's response, in its parent's telemetry and in its own file. The file names neither the
 * response nor the request; its counts are the same, and the counts of an agent's responses differ.
 */
export function toSubagentResponseId(sessionId: string, agentId: string, usage: Usage): string {
  const { inputTokens, cacheReadTokens, outputTokens } = usage;
  return `qwen/${sessionId}/${agentId}/${inputTokens + cacheReadTokens}/${cacheReadTokens}/${outputTokens}`;
}
