/**
 * A second opinion on Claude Code transcripts, for checking the parser. It is naive on purpose (the whole file in
 * memory, split on newlines, JSON.parse) and shares no code with `@recount/core`, so that a mistake made there is
 * not made here too.
 */

/** Token counts of one assistant message, per field the maximum over its lines. */
export interface MessageUsageCount {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Lines that carry this message id. */
  readonly lines: number;
}

/** The contents of a transcript, counted by the rules of {@link countTranscript}. */
export interface TranscriptCount {
  readonly messages: number;
  readonly userMessages: number;
  readonly assistantMessages: number;
  readonly systemMessages: number;
  readonly summaryMessages: number;
  readonly contentBlocks: number;
  /** By the block's own `type`; a block without one counts under `unknown`. */
  readonly blocksByType: Readonly<Record<string, number>>;
  /** `tool_use` blocks alone, not the server-side and MCP variants. */
  readonly toolUses: number;
  /** `thinking` and `redacted_thinking` blocks. */
  readonly thinkingBlocks: number;
  /** `tool_use` blocks named `Task` or `Agent`. */
  readonly subagents: number;
  /** API responses that only `agent_progress` lines report; their tokens are in the totals. */
  readonly progressResponses: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** Without those that only progress lines report. */
  readonly tokensOutOfMessages: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Lines that are not JSON, entirely or from some point on. */
  readonly invalidJsonLines: number;
  /** JSON values that are not objects with a string `type`. */
  readonly missingTypeLines: number;
  /** Earliest and latest `timestamp` of any line, ISO 8601 in UTC; null if none is valid. */
  readonly firstTimestamp: string | null;
  readonly lastTimestamp: string | null;
  /** Assistant messages that have an id; those without one count only in the totals. */
  readonly perMessageId: ReadonlyMap<string, MessageUsageCount>;
  /** Output tokens if each message's first line were trusted, which are too few. */
  readonly outputFirstLine: number;
  /** Output tokens if all lines were added up, which are too many. */
  readonly outputSummed: number;
}

type JsonObject = Record<string, unknown>;

interface Tally {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  lines: number;
}

const messageTypes = ['user', 'assistant', 'system', 'summary'] as const;

/**
 * Counts a transcript.
 *
 * - A user, system or summary line is a message. The assistant lines that share a `message.id` are one message, at the
 *   first of them; an assistant line without an id is a separate message.
 * - The `agent_progress` lines that share a `data.message.message.id` are one API response, which is no message. Where
 *   assistant lines have the same id, the progress lines count for nothing.
 * - Tokens of a message are, for each field of `usage`, the maximum over its lines.
 * - Every line's blocks count. A string is one text block (an empty one none), an array one block for each object in
 *   it, anything else none. The content is `message.content`, a summary's `summary`, a system line's `content`.
 * - A line that is itself a tool use or a tool result is a message of that one block, the assistant's or the user's.
 * - An attachment is a message if it is a prompt that was queued, or what a hook told the agent. A user line that
 *   repeats a queued prompt before the next answer is none.
 * - JSON objects glued together on one line are read one by one; a remainder that is no JSON makes it an invalid line.
 *
 * @param bytes the whole transcript; its text must fit one string (about 512 MiB)
 */
export function countTranscript(bytes: Uint8Array): TranscriptCount {
  const { values, invalidJsonLines } = readValues(new TextDecoder().decode(bytes));
  const typedValues = values.filter((value) => isObject(value) && typeof value.type === 'string') as JsonObject[];
  const typed = withoutRepeatedPrompts(typedValues.map(wrapBlock).map(wrapAttachment));
  const byType = (type: string) => typed.filter((line) => line.type === type);
  const assistantLines = byType('assistant');
  const { perMessageId, withoutId } = tallyUsage(assistantLines);
  const tallies = [...perMessageId.values(), ...withoutId];
  const progressLines = toProgressMessages(typed).filter((line) => !perMessageId.has(messageIdOf(line) ?? ''));
  const progress = tallyUsage(progressLines);
  const progressTallies = [...progress.perMessageId.values(), ...progress.withoutId];
  const responses = [...tallies, ...progressTallies];
  const messageLines = messageTypes.flatMap(byType);
  const blocks = messageLines.flatMap(contentBlocksOf);
  const toolUses = blocks.filter((block) => block.type === 'tool_use');
  const userMessages = byType('user').length;
  const systemMessages = byType('system').length;
  const summaryMessages = byType('summary').length;

  return {
    messages: userMessages + tallies.length + systemMessages + summaryMessages,
    userMessages,
    assistantMessages: tallies.length,
    systemMessages,
    summaryMessages,
    contentBlocks: blocks.length,
    blocksByType: countByType(blocks),
    toolUses: toolUses.length,
    thinkingBlocks: blocks.filter((block) => block.type === 'thinking' || block.type === 'redacted_thinking').length,
    subagents: toolUses.filter((block) => block.name === 'Task' || block.name === 'Agent').length,
    progressResponses: progressTallies.length,
    tokensIn: sum(responses.map((tally) => tally.input)),
    tokensOut: sum(responses.map((tally) => tally.output)),
    tokensOutOfMessages: sum(tallies.map((tally) => tally.output)),
    cacheRead: sum(responses.map((tally) => tally.cacheRead)),
    cacheWrite: sum(responses.map((tally) => tally.cacheWrite)),
    invalidJsonLines,
    missingTypeLines: values.length - typedValues.length,
    ...timestampRange(typed),
    perMessageId,
    outputFirstLine: outputOfFirstLines([...assistantLines, ...progressLines]),
    outputSummed: sum([...assistantLines, ...progressLines].map((line) => usageOf(line).output)),
  };
}

function withoutRepeatedPrompts(lines: readonly JsonObject[]): JsonObject[] {
  const queued = new Set<unknown>();
  return lines.filter((line) => {
    if (line.type === 'assistant') queued.clear();
    const content = line.type === 'user' && isObject(line.message) ? line.message.content : undefined;
    if (typeof content !== 'string') return true;
    if (line.attachment === undefined) return !queued.delete(content);
    queued.add(content);
    return true;
  });
}

function wrapAttachment(line: JsonObject): JsonObject {
  if (line.type !== 'attachment' || !isObject(line.attachment)) return line;
  const { type, prompt, content, message, blockingError } = line.attachment;
  switch (type) {
    case 'queued_command':
      return { ...line, type: 'user', message: { content: prompt } };
    case 'hook_additional_context':
    case 'hook_system_message':
      return { ...line, type: 'system', content: [content].flat().join('') };
    case 'hook_stopped_continuation':
      return { ...line, type: 'system', content: message };
    case 'hook_blocking_error':
      return {
        ...line,
        type: 'system',
        content: isObject(blockingError) ? blockingError.blockingError : blockingError,
      };
    default:
      return line;
  }
}

function wrapBlock(line: JsonObject): JsonObject {
  if (line.type !== 'tool_use' && line.type !== 'tool_result') return line;
  const type = line.type === 'tool_use' ? 'assistant' : 'user';
  return { ...line, type, message: { content: [line] } };
}

function readValues(text: string): { values: unknown[]; invalidJsonLines: number } {
  const values: unknown[] = [];
  let invalidJsonLines = 0;
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const { found, complete } = readGluedValues(line);
    for (const value of found) values.push(value);
    if (!complete) invalidJsonLines += 1;
  }
  return { values, invalidJsonLines };
}

/** Cuts at the first `}{` whose left side is JSON, and so on. Slow on long invalid lines, but hard to get wrong. */
function readGluedValues(line: string): { found: unknown[]; complete: boolean } {
  const found: unknown[] = [];
  let rest = line;
  while (true) {
    const whole = tryParse(rest);
    if (whole) return { found: [...found, whole.value], complete: true };
    const seams = [...rest.matchAll(/\}\s*(?=\{)/g)].map((match) => match.index + 1);
    const cut = seams.find((seam) => tryParse(rest.slice(0, seam)) !== null);
    if (cut === undefined) return { found, complete: false };
    found.push(JSON.parse(rest.slice(0, cut)));
    rest = rest.slice(cut);
  }
}

function tryParse(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

/** The responses of sub-agents as assistant lines: `{message}`. */
function toProgressMessages(lines: readonly JsonObject[]): JsonObject[] {
  return lines.flatMap((line) => {
    const data = line.type === 'progress' && isObject(line.data) ? line.data : {};
    const told = data.type === 'agent_progress' && isObject(data.message) ? data.message : {};
    return told.type === 'assistant' && isObject(told.message) && isObject(told.message.usage) ? [told] : [];
  });
}

function tallyUsage(assistantLines: readonly JsonObject[]): {
  perMessageId: Map<string, Tally>;
  withoutId: Tally[];
} {
  const perMessageId = new Map<string, Tally>();
  const withoutId: Tally[] = [];
  for (const line of assistantLines) {
    const usage = usageOf(line);
    const id = messageIdOf(line);
    if (id === null) {
      withoutId.push(usage);
      continue;
    }
    const before = perMessageId.get(id);
    if (!before) {
      perMessageId.set(id, usage);
      continue;
    }
    before.input = Math.max(before.input, usage.input);
    before.output = Math.max(before.output, usage.output);
    before.cacheRead = Math.max(before.cacheRead, usage.cacheRead);
    before.cacheWrite = Math.max(before.cacheWrite, usage.cacheWrite);
    before.lines += 1;
  }
  return { perMessageId, withoutId };
}

function outputOfFirstLines(assistantLines: readonly JsonObject[]): number {
  const seen = new Set<string>();
  let output = 0;
  for (const line of assistantLines) {
    const id = messageIdOf(line);
    if (id !== null && seen.has(id)) continue;
    if (id !== null) seen.add(id);
    output += usageOf(line).output;
  }
  return output;
}

function usageOf(line: JsonObject): Tally {
  const usage = isObject(line.message) && isObject(line.message.usage) ? line.message.usage : {};
  return {
    input: toTokens(usage.input_tokens),
    output: toTokens(usage.output_tokens),
    cacheRead: toTokens(usage.cache_read_input_tokens),
    cacheWrite: toTokens(usage.cache_creation_input_tokens),
    lines: 1,
  };
}

function toTokens(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

function messageIdOf(line: JsonObject): string | null {
  const id = isObject(line.message) ? line.message.id : undefined;
  return typeof id === 'string' && id !== '' ? id : null;
}

function contentBlocksOf(line: JsonObject): JsonObject[] {
  const content = contentOf(line);
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.filter(isObject) : [];
}

function contentOf(line: JsonObject): unknown {
  if (line.type === 'system') return typeof line.content === 'string' ? line.content : null;
  if (line.type === 'summary' && typeof line.summary === 'string') return line.summary;
  return isObject(line.message) ? line.message.content : null;
}

function countByType(blocks: readonly JsonObject[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const block of blocks) {
    const type = typeof block.type === 'string' ? block.type : 'unknown';
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}

function timestampRange(lines: readonly JsonObject[]): Pick<TranscriptCount, 'firstTimestamp' | 'lastTimestamp'> {
  const timestamps = lines
    .map((line) => (typeof line.timestamp === 'string' ? Date.parse(line.timestamp) : Number.NaN))
    .filter((milliseconds) => !Number.isNaN(milliseconds))
    .sort((a, b) => a - b)
    .map((milliseconds) => new Date(milliseconds).toISOString());
  return { firstTimestamp: timestamps[0] ?? null, lastTimestamp: timestamps.at(-1) ?? null };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
