import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, isJsonObject } from '../../records/fields.ts';

const FLAGS = [
  'isMeta',
  'isCompactSummary',
  'isVisibleInTranscriptOnly',
  'isApiErrorMessage',
  'isAbortedMidStream',
  'interruptedByShutdown',
  'preventedContinuation',
] as const;

const SCALARS = [
  'subtype',
  'level',
  'leafUuid',
  'logicalParentUuid',
  'promptId',
  'promptSource',
  'permissionMode',
  'sourceToolUseID',
  'sourceToolAssistantUUID',
  'toolUseID',
  'toolDenialKind',
  'apiErrorStatus',
  'effort',
  'advisorModel',
  'attributionAgent',
  'attributionSkill',
  'attributionPlugin',
  'attributionMcpServer',
  'attributionMcpTool',
  'durationMs',
  'messageCount',
  'hookCount',
  'stopReason',
  'retryInMs',
  'retryAttempt',
  'maxRetries',
  'originalModel',
  'fallbackModel',
  'trigger',
  'teamName',
] as const;

const OBJECTS = ['forkedFrom', 'compactMetadata', 'origin'] as const;

/** Fields of a tool result that describe the call. The tool's output stays in the raw object. */
const TOOL_RESULT_SCALARS = [
  'agentId',
  'agentType',
  'status',
  'type',
  'interrupted',
  'success',
  'isAsync',
  'isImage',
  'userModified',
  'truncated',
  'durationMs',
  'durationSeconds',
  'totalDurationMs',
  'totalTokens',
  'totalToolUseCount',
  'searchCount',
  'numFiles',
  'numLines',
  'numMatches',
  'bytes',
  'code',
  'exitCode',
  'timedOutAfterMs',
  'persistedOutputSize',
  'backgroundTaskId',
  'taskId',
  'model',
] as const;

const MAX_SCALAR_LENGTH = 512;
const MAX_OBJECT_FIELDS = 32;

/** Converts a field's value; undefined if it is dropped. */
type Reader = (value: JsonValue) => JsonValue | undefined;

const MESSAGE_READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ...FLAGS.map((field) => [field, toFlag] as const),
  ...SCALARS.map((field) => [field, toScalar] as const),
  ...OBJECTS.map((field) => [field, toObject] as const),
  ['error', (value) => (typeof value === 'string' ? toScalar(value) : toObject(value))],
  ['toolUseResult', toToolResultFacts],
]);
const TOOL_RESULT_READERS: ReadonlyMap<string, Reader> = new Map(TOOL_RESULT_SCALARS.map((field) => [field, toScalar]));

/** Small facts of a message line without a separate column. Bounded, because long strings are cut. */
export function toMessageMetadata(line: JsonObject, message: JsonObject | undefined): JsonObject {
  const metadata = readFields(line, MESSAGE_READERS);
  const stopSequence = message?.stop_sequence;
  if (typeof stopSequence === 'string') metadata.stop_sequence = cutCharacters(stopSequence, MAX_SCALAR_LENGTH);
  return metadata;
}

/** Looks up the few fields that are present rather than the many that could be. */
function readFields(source: JsonObject, readers: ReadonlyMap<string, Reader>): JsonObject {
  const fields: JsonObject = {};
  for (const field in source) {
    const read = readers.get(field);
    const value = read?.(source[field] ?? null);
    if (value !== undefined) fields[field] = value;
  }
  return fields;
}

function toFlag(value: JsonValue): true | undefined {
  return value === true ? true : undefined;
}

function toObject(value: JsonValue): JsonObject | undefined {
  return isJsonObject(value) ? toScalarFields(value) : undefined;
}

function toToolResultFacts(value: JsonValue): JsonObject | undefined {
  const facts = isJsonObject(value) ? readFields(value, TOOL_RESULT_READERS) : {};
  return Object.keys(facts).length > 0 ? facts : undefined;
}

function toScalarFields(source: JsonObject): JsonObject {
  const entries = Object.entries(source)
    .slice(0, MAX_OBJECT_FIELDS)
    .map(([field, value]) => [cutCharacters(field, MAX_SCALAR_LENGTH), toScalar(value)] as const)
    .filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined);
  return Object.fromEntries(entries);
}

function toScalar(value: JsonValue): JsonValue | undefined {
  if (typeof value === 'string') return cutCharacters(value, MAX_SCALAR_LENGTH);
  return typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}
