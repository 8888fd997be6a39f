import type { TranscriptMessage } from '../rows.ts';
import type { OpenResponse } from '../usage/open-response.ts';
import type { Usage } from '../usage/usage.ts';
import type { OpenMessage } from './message-assembler.ts';
import type { WindowEntry } from './response-window.ts';

/** Texts that recur in many responses, such as models and branches, are told once and then by their number. */
const MAX_NAMES = 1000;

type Entry = WindowEntry<OpenMessage>;
type Row = TranscriptMessage;
/** How a field is packed: a `name` is a text that recurs, a `key` one that is often the group's key, a `flag` a boolean. */
type FieldKind = 'value' | 'name' | 'key' | 'flag';
type Fields<T> = readonly (readonly [name: keyof T, kind: FieldKind])[];
/** The row's id is the row's, and the price follows from the rest. */
type StoredResponse = Omit<
  OpenResponse,
  'countedBlocks' | 'facts' | 'messageRowId' | 'usage' | 'price' | 'pricedModel' | 'pricedTimestamp'
>;

/** Values of the fields in their order. */
type PackedFields = unknown[];
/** The fields of the response, names and lengths of its blocks in turn and, unless they are those of a message, its facts. */
type PackedResponse = [
  fields: PackedFields,
  blocks: (string | number)[],
  usage: PackedFields | null,
  facts: PackedFields | null,
];
type PackedMessage = [row: PackedFields, response: PackedResponse, blockCount: number, lineCount: number];
type PackedEntry = [message: PackedMessage | null, progress: PackedResponse | null];

/** Names every field, or the compiler complains. */
function toFields<T>(kinds: Record<keyof T, FieldKind>): Fields<T> {
  return Object.entries(kinds) as [keyof T, FieldKind][];
}

const ROW_FIELDS = toFields<Row>({
  id: 'value',
  session_id: 'name',
  line_number: 'value',
  ordinal: 'value',
  message_type: 'name',
  role: 'name',
  model: 'name',
  tokens_in: 'value',
  tokens_out: 'value',
  cache_read: 'value',
  cache_write: 'value',
  cost_usd: 'value',
  timestamp: 'value',
  has_text: 'flag',
  has_thinking: 'flag',
  has_tool_use: 'flag',
  has_tool_result: 'flag',
  metadata: 'value',
  provider_message_id: 'key',
  request_id: 'value',
  uuid: 'value',
  parent_uuid: 'value',
  is_sidechain: 'flag',
  agent_id: 'name',
  stop_reason: 'name',
  byte_offset: 'value',
  byte_length: 'value',
});

const FACT_FIELDS = toFields<OpenResponse['facts']>({
  provider_message_id: 'key',
  request_id: 'value',
  model: 'name',
  timestamp: 'value',
  agent_id: 'name',
  stop_reason: 'name',
  line_number: 'value',
});

const RESPONSE_FIELDS = toFields<StoredResponse>({
  key: 'key',
  source: 'name',
  sessionId: 'name',
  isSubagent: 'flag',
  gitBranch: 'name',
  agentVersion: 'name',
  isMarkedCopy: 'flag',
  reportedCostUsd: 'value',
  advisors: 'value',
  contentBytes: 'value',
  searchCount: 'value',
});

const USAGE_FIELDS = toFields<Usage>({
  inputTokens: 'value',
  outputTokens: 'value',
  cacheReadTokens: 'value',
  cacheWriteTokens: 'value',
  cacheWrite5mTokens: 'value',
  cacheWrite1hTokens: 'value',
  webSearchRequests: 'value',
  webFetchRequests: 'value',
  thinkingTokens: 'value',
  serviceTier: 'name',
  speed: 'name',
  inferenceGeo: 'name',
});

function toCountedBlocks(packed: readonly (string | number)[]): OpenResponse['countedBlocks'] {
  const blocks: OpenResponse['countedBlocks'] = [];
  for (let index = 0; index < packed.length; index += 2) {
    blocks.push({ name: String(packed[index]), byteLength: Number(packed[index + 1]) });
  }
  return blocks;
}

export interface ResponsePacker {
  /** The entry as a short text, a quarter of its size; undefined where the two would differ. */
  pack(entry: Entry): string | undefined;
  /** The entry whose text it is: the same but for prices, which are to be looked up anew. */
  unpack(groupKey: string, packed: string): Entry;
}

/** Packs what is open of API responses; texts can be unpacked by the packer that made them. */
export function createResponsePacker(): ResponsePacker {
  const names: string[] = [];
  const numbers = new Map<string, number>();

  const toName = (text: string): string | number => {
    const known = numbers.get(text);
    if (known !== undefined) return known;
    if (names.length < MAX_NAMES) numbers.set(text, names.push(text) - 1);
    return text;
  };

  const packValue = (value: unknown, kind: FieldKind, groupKey: string): unknown => {
    if (kind === 'flag') return value === true ? 1 : 0;
    if (kind === 'name' && typeof value === 'string') return toName(value);
    return kind === 'key' && value === groupKey ? 0 : value;
  };
  const unpackValue = (packed: unknown, kind: FieldKind, groupKey: string): unknown => {
    if (kind === 'flag') return packed === 1;
    if (typeof packed !== 'number' || kind === 'value') return packed;
    return kind === 'key' ? groupKey : names[packed];
  };
  const packFields = <T>(source: T, fields: Fields<T>, groupKey: string): PackedFields =>
    fields.map(([name, kind]) => packValue(source[name], kind, groupKey));
  const unpackFields = <T>(packed: PackedFields, fields: Fields<T>, groupKey: string): T => {
    const unpacked: Partial<Record<keyof T, unknown>> = {};
    let index = 0;
    for (const [name, kind] of fields) unpacked[name] = unpackValue(packed[index++], kind, groupKey);
    return unpacked as T;
  };

  const packResponse = (response: OpenResponse, groupKey: string, hasRow: boolean): PackedResponse => [
    packFields<StoredResponse>(response, RESPONSE_FIELDS, groupKey),
    response.countedBlocks.flatMap(({ name, byteLength }) => [name, byteLength]),
    response.usage === undefined ? null : packFields(response.usage, USAGE_FIELDS, groupKey),
    hasRow ? null : packFields(response.facts, FACT_FIELDS, groupKey),
  ];
  const unpackResponse = (
    [fields, blocks, usage, facts]: PackedResponse,
    groupKey: string,
    row?: Row,
  ): OpenResponse => ({
    ...unpackFields(fields, RESPONSE_FIELDS, groupKey),
    countedBlocks: toCountedBlocks(blocks),
    messageRowId: row?.id ?? null,
    facts: row ?? unpackFields(facts ?? [], FACT_FIELDS, groupKey),
    usage: usage === null ? undefined : unpackFields(usage, USAGE_FIELDS, groupKey),
    price: undefined,
    pricedModel: null,
    pricedTimestamp: null,
  });
  const packMessage = (message: OpenMessage, groupKey: string): PackedMessage | undefined => {
    const { row, response, blockCount, lineCount } = message;
    if (response?.facts !== row || response.messageRowId !== row.id) return undefined;
    return [packFields(row, ROW_FIELDS, groupKey), packResponse(response, groupKey, true), blockCount, lineCount];
  };
  const unpackMessage = (packed: PackedMessage, groupKey: string): OpenMessage => {
    const [fields, response, blockCount, lineCount] = packed;
    const row = unpackFields(fields, ROW_FIELDS, groupKey);
    return { row, response: unpackResponse(response, groupKey, row), blockCount, lineCount };
  };

  return {
    pack({ groupKey, message, progress }) {
      const packedMessage = message === undefined ? null : packMessage(message, groupKey);
      if (packedMessage === undefined) return undefined;
      const packed: PackedEntry = [
        packedMessage,
        progress === undefined ? null : packResponse(progress, groupKey, false),
      ];
      return JSON.stringify(packed);
    },
    unpack(groupKey, text) {
      const [message, progress] = JSON.parse(text) as PackedEntry;
      return {
        groupKey,
        message: message === null ? undefined : unpackMessage(message, groupKey),
        progress: progress === null ? undefined : unpackResponse(progress, groupKey),
      };
    },
  };
}
