import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage } from '../../records/new-records.ts';
import type { BlockContent, TranscriptRecord } from '../../records/records.ts';
import type { Reader, ReaderContext, ReadLine } from '../agent.ts';
import { type CanonicalRow, readCanonicalRow, readJsonColumn, toUnreadRow } from '../canonical-lines.ts';
import { createReaderKit, readType, type ToolVocabulary, toReportedCost, toSessionRecord } from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { newUnknown, reportUnreadContent } from '../unread-lines.ts';

const TOOLS: ToolVocabulary = {
  read: ['view', 'ls'],
  edit: ['edit', 'multiedit', 'write'],
  shell: ['bash', 'job_output', 'job_kill'],
  search: ['grep', 'glob', 'sourcegraph', 'references', 'diagnostics'],
  web: ['fetch', 'agentic_fetch', 'web_fetch', 'web_search', 'download'],
  agent: ['agent'],
  plan: ['todos'],
};

const PART_TYPES = new Set<unknown>([
  ...['text', 'reasoning', 'image_url', 'binary', 'tool_call', 'tool_result', 'finish', 'shell_command'],
]);

/** Reads sessions of Crush's store, as `packages/collect` writes them. It has no usage, only the session's cost. */
export function createCrushReader(context: ReaderContext, state: Record<string, never> = {}): Reader {
  return new CrushReader(context, state);
}

class CrushReader extends StatefulReader<Record<string, never>> {
  readonly #kit = createReaderKit(this.context, TOOLS);

  read(line: JsonObject): ReadLine {
    if (line.recount === 'session') return { type: 'header', timestampMs: undefined, records: [] };
    const row = readCanonicalRow(line);
    const type = row?.table ?? 'unknown';
    const unread = row === undefined ? line : toUnreadRow(row);
    const time = row?.row.created_at;
    // Seconds, despite what the comments in its schema say.
    const timestampMs = this.#kit.toTimeMs(typeof time === 'number' && time < 1e11 ? time * 1000 : time);
    const records = row && this.#readRow(row, timestampMs);
    return { type, timestampMs, records: records ?? [newUnknown(type, unread)] };
  }

  #readSession(row: JsonObject): TranscriptRecord[] {
    const session = toSessionRecord({ sessionId: this.#kit.toId(row.id) });
    const text = readText(row.title);
    const title = text === null ? [] : [{ kind: 'session', title: toTitle(text) } as const];
    const cost_usd = toReportedCost(this.#kit.toDollars(row, 'cost'));
    const unknown = { tokens_in: null, tokens_out: null, cache_read: null, cache_write: null };
    const totals =
      cost_usd === null
        ? []
        : [{ kind: 'session', reportedTotals: { source: 'result', cost_usd, ...unknown } } as const];
    return [session ?? [], title, totals].flat();
  }

  #readMessage(row: JsonObject, timestampMs: number | undefined): TranscriptRecord[] | undefined {
    const parts = readJsonColumn(row.parts);
    if (!Array.isArray(parts)) return undefined;
    const elements = parts.filter(isJsonObject);
    const dataOf = (type: string): JsonObject[] =>
      elements
        .filter((part) => part.type === type)
        .map(({ data }) => data)
        .filter(isJsonObject);
    for (const { type, data } of elements) {
      if (!PART_TYPES.has(type)) reportUnreadContent(`part/${readType(type) ?? 'unknown'}`, data, this.context);
    }
    const entry = { timestampMs, uuid: this.#kit.toId(row.id) };
    const blocks = elements.flatMap(this.#toBlocks);
    if (row.is_summary_message === 1) {
      const event = { kind: 'compaction', name: null, details: {} } as const;
      return [this.#kit.toEvent(event, entry.uuid, timestampMs), newMessage('summary', { ...entry, blocks })];
    }
    switch (row.role) {
      case 'user':
        return this.#kit.toPromptRecords(elements.map(toApiElement), entry, entry.uuid);
      case 'assistant': {
        const model = this.#kit.toId(row.model);
        const [finish] = dataOf('finish');
        const stopReason = this.#kit.toId(finish?.reason);
        const message = newMessage('assistant', { ...entry, model, stopReason, blocks });
        if (stopReason !== 'error') return [message];
        const event = { kind: 'api_error', name: this.#kit.toId(row.provider), details: {} } as const;
        const text = [finish?.message, finish?.details].filter((part) => typeof part === 'string' && part !== '');
        const shown =
          text.length === 0 ? [] : [newMessage('system', { timestampMs, blocks: this.#kit.toBlocks(text.join('\n')) })];
        return [this.#kit.toEvent(event, entry.uuid, timestampMs), message, ...shown];
      }
      case 'tool':
        return dataOf('tool_result').map((result) => {
          const source = { id: result.tool_call_id, content: toContent(result), isError: result.is_error === true };
          return this.#kit.toToolResultMessage(source, entry);
        });
      case 'system':
        return [newMessage('system', { ...entry, blocks })];
      default:
        return undefined;
    }
  }

  #readRow({ table, row }: CanonicalRow, timestampMs: number | undefined): TranscriptRecord[] | undefined {
    if (table === 'sessions') return this.#readSession(row);
    return table === 'messages' ? this.#readMessage(row, timestampMs) : undefined;
  }

  readonly #toBlocks = (part: JsonObject): BlockContent[] => {
    const data = readObject(part.data) ?? {};
    if (part.type === 'tool_call') {
      return this.#kit.toToolUseBlocks({ id: data.id, name: data.name, input: readJsonColumn(data.input) });
    }
    return part.type === 'finish' || part.type === 'tool_result' ? [] : this.#kit.toBlocks([toApiElement(part)]);
  };
}

/** Crush's parts in the shape of the Anthropic API. */
function toApiElement(part: JsonObject): JsonValue {
  const data = readObject(part.data) ?? {};
  switch (part.type) {
    case 'text':
      return { type: 'text', text: data.text ?? '' };
    case 'reasoning':
      return { type: 'thinking', thinking: data.thinking ?? '', signature: data.signature ?? null };
    case 'shell_command':
      return { type: 'text', text: `! ${readText(data.command) ?? ''}\n${readText(data.output) ?? ''}` };
    case 'binary':
      return { type: 'image', source: { type: 'base64', media_type: data.MIMEType ?? null, data: data.Data ?? null } };
    case 'image_url':
      return { type: 'image', source: { type: 'url', url: data.url ?? null } };
    default:
      return { type: typeof part.type === 'string' ? part.type : 'unknown', data };
  }
}

/** The text of a result, and its image if it has one. */
function toContent({ content, data, mime_type: mime }: JsonObject): JsonValue | undefined {
  if (typeof data !== 'string' || data === '' || !/^image\//.test(readText(mime) ?? '')) return content;
  const image = { type: 'image', source: { type: 'base64', media_type: mime ?? null, data } };
  return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }, image] : [image];
}

function toTitle(text: string): { source: 'generated'; text: string } {
  return { source: 'generated', text: cutCharacters(text, 512) };
}
