import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage } from '../../records/new-records.ts';
import type { TranscriptRecord } from '../../records/records.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { type CanonicalRow, readCanonicalRow, readJsonColumn } from '../canonical-lines.ts';
import { createReaderKit, type ReaderKit, toCutTitle, toSessionRecord } from '../reader-kit.ts';
import { newUnknown } from '../unread-lines.ts';
import { readUser, TOOLS, toBlocks } from './reader.ts';
import { readWorkspace } from './store.ts';

interface CursorStoreState {
  rootId: string | null;
  /** Past the latest state. The rest is no longer in the conversation, or belongs to a sub-agent. */
  isPastRoot: boolean;
}

/**
 * Reads sessions of the CLI's store, as `packages/collect` writes them. They have no usage, and no times except the
 * session's start.
 */
export function createCursorStoreReader(
  context: ReaderContext,
  state: CursorStoreState = { rootId: null, isPastRoot: false },
): Reader {
  const kit = createReaderKit(context, TOOLS);

  const readFacts = (facts: JsonObject): TranscriptRecord[] => {
    state.rootId = kit.toId(facts.latestRootBlobId);
    const title = readText(facts.name);
    const session = toSessionRecord({ sessionId: kit.toId(facts.agentId) });
    // The placeholder title of a session without a name.
    const isNamed = title !== null && title !== '' && title !== 'New Agent';
    return [session ?? [], isNamed ? toCutTitle('generated', title) : []].flat();
  };

  const readBlob = ({ row }: CanonicalRow): TranscriptRecord[] | undefined => {
    if (state.rootId !== null && row.id === state.rootId) {
      state.isPastRoot = true;
      const bytes = readText(readObject(row.data)?.base64) ?? '';
      return [toSessionRecord({ cwd: kit.toId(readWorkspace(Buffer.from(bytes, 'base64'))) }) ?? []].flat();
    }
    const message = readJsonColumn(row.data);
    if (state.isPastRoot) return [];
    return isJsonObject(message) ? readMessage(message, kit) : undefined;
  };

  return {
    state,
    read(line) {
      if (line.recount === 'session') return { type: 'header', timestampMs: undefined, records: [] };
      const row = readCanonicalRow(line);
      const type = row?.table ?? 'unknown';
      if (row?.table === 'meta') {
        return { type, timestampMs: kit.toTimeMs(row.row.createdAt), records: readFacts(row.row) };
      }
      const records = row?.table === 'blobs' ? readBlob(row) : undefined;
      return { type, timestampMs: undefined, records: records ?? [newUnknown(type, row?.row ?? line)] };
    },
  };
}

/**
 * Reads a message as Cursor sends it to the model, in the shape of Vercel's AI SDK; undefined if its role is unknown.
 */
function readMessage(message: JsonObject, kit: ReaderKit): TranscriptRecord[] | undefined {
  const { role, content } = message;
  const options = readCursorOptions(message);
  if (role === 'user') {
    if (options?.isSummary === true) {
      const event = { kind: 'compaction', name: null, details: {} } as const;
      return [kit.toEvent(event, null, undefined), newMessage('summary', { blocks: kit.toBlocks(content) })];
    }
    // Equal texts share a blob id. The request's id is unique to the prompt, and the same in copies.
    return readUser(content, { uuid: kit.toId(options?.requestId) }, kit);
  }
  if (role === 'assistant') {
    const model = kit.toId(findModel(content));
    return [newMessage('assistant', { model, blocks: toBlocks(content, kit, undefined) })];
  }
  if (role === 'tool' && Array.isArray(content)) return content.map((result) => readResult(result, message, kit));
  return role === 'system' ? [newMessage('system', { blocks: kit.toBlocks(content) })] : undefined;
}

function readResult(value: JsonValue, message: JsonObject, kit: ReaderKit): TranscriptRecord {
  const result = readObject(value);
  const outcome = readObject(readCursorOptions(message)?.highLevelToolCallResult);
  const output = readObject(outcome?.output);
  const isDenied = output?.rejected !== undefined || output?.permissionDenied !== undefined;
  const hasFailed = [outcome?.isError, output?.isError, result?.isError].includes(true);
  const isError = hasFailed || isDenied || output?.failure !== undefined || output?.error !== undefined;
  const content = result?.result ?? null;
  const text = typeof content === 'string' || Array.isArray(content) ? content : JSON.stringify(content);
  return kit.toToolResultMessage({ id: result?.toolCallId, content: text, isError, isDenied }, {});
}

function findModel(content: JsonValue | undefined): JsonValue | undefined {
  const elements = Array.isArray(content) ? content : [];
  return elements
    .map((element) => readCursorOptions(readObject(element))?.modelName)
    .find((name) => name !== undefined);
}

const readCursorOptions = (value: JsonObject | undefined): JsonObject | undefined =>
  readObject(readObject(value?.providerOptions)?.cursor);
