import type { JsonObject, JsonValue } from '../../rows.ts';
import { cutCharacters, isJsonObject, readObject } from '../fields.ts';

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

/** Of a tool's result as the agent kept it: what describes the call. What it returned stays in the raw object. */
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

/** The small facts of a message line that have no column of their own. Bounded: long strings are cut. */
export function toMessageMetadata(line: JsonObject, message: JsonObject | undefined): JsonObject {
  const metadata: JsonObject = {};
  for (const flag of FLAGS) if (line[flag] === true) metadata[flag] = true;
  copyScalars(line, SCALARS, metadata);
  for (const field of OBJECTS) {
    const value = readObject(line[field]);
    if (value !== undefined) metadata[field] = toScalarFields(value);
  }
  const error = line.error;
  if (typeof error === 'string') metadata.error = cutCharacters(error, MAX_SCALAR_LENGTH);
  else if (isJsonObject(error)) metadata.error = toScalarFields(error);
  const toolUseResult = readObject(line.toolUseResult);
  if (toolUseResult !== undefined) {
    const facts: JsonObject = {};
    copyScalars(toolUseResult, TOOL_RESULT_SCALARS, facts);
    if (Object.keys(facts).length > 0) metadata.toolUseResult = facts;
  }
  const stopSequence = message?.stop_sequence;
  if (typeof stopSequence === 'string') metadata.stop_sequence = cutCharacters(stopSequence, MAX_SCALAR_LENGTH);
  return metadata;
}

function copyScalars(source: JsonObject, fields: readonly string[], target: JsonObject): void {
  for (const field of fields) {
    const value = toScalar(source[field]);
    if (value !== undefined) target[field] = value;
  }
}

function toScalarFields(source: JsonObject): JsonObject {
  const entries = Object.entries(source)
    .slice(0, MAX_OBJECT_FIELDS)
    .map(([field, value]) => [cutCharacters(field, MAX_SCALAR_LENGTH), toScalar(value)] as const)
    .filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined);
  return Object.fromEntries(entries);
}

function toScalar(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'string') return cutCharacters(value, MAX_SCALAR_LENGTH);
  return typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}
