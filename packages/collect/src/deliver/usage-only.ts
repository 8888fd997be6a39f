import { findFormat, type JsonObject, type JsonValue, parseForeignJson } from '@recount/core';

/**
 * Members whose strings say who spoke when, with the model, tool and response. They are names and times, not text.
 * These fields of all agents stay; all others become filler.
 */
const NAMES = new Set(
  `type subtype kind role status phase name model modelID model_id model_name modelId currentModel provider providerID provider_id
  model_provider tool tool_name toolName agent agent_type agentType mode source userType entrypoint version cli_version copilotVersion
  originator producer effort reasoning_effort service_tier speed inference_geo stop_reason stopReason finish_reason finishReason finish
  reason level state event plan_type recount table hook_event_name`.split(/\s+/),
);
/** Members whose strings are paths on the machine. */
const PLACES = new Set(
  'cwd directory working_dir workingDirectory workdir workspace root branch gitBranch git_branch'.split(' '),
);
const IS_ID = /(?:^|[_.])(?:u?u?id|key)s?$|(?:Id|ID|Uuid|UUID)s?$|^id$/;
const IS_TIME = /(?:^|_)(?:time|timestamp|date|at|created|updated|started|ended)$|(?:Time|Timestamp|At|Date)$/;
/** Tool inputs, whose members have names that the tool chooses. */
const INPUTS = new Set(['input', 'arguments', 'args', 'parameters', 'params']);
const IS_NAME = /^[\w.:/@+<>()#|~=-]{1,256}$/;
const IS_MEMBER = /^[A-Za-z_$-][\w$.-]{0,63}$/;
const LINE_FEED = 0x0a;

/**
 * Rewrites a session so that its tokens, tool names, times and ids remain, but no text. Each text becomes filler of the
 * same number of bytes, so that estimates based on lengths remain too. Undefined for a format that recount does not
 * read, or that has no usage.
 */
export function toUsageOnly(
  format: string | undefined,
): ((source: AsyncIterable<Uint8Array>) => AsyncGenerator<Buffer>) | undefined {
  const found = format === undefined ? undefined : findFormat(format);
  if (found === undefined || found.format.lacksUsage) return undefined;
  return found.format.layout === 'document' ? rewriteDocument : rewriteLines;
}

async function* rewriteDocument(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  yield rewriteJson(Buffer.concat(chunks));
}

/** A line that is not JSON becomes a line of spaces. */
async function* rewriteLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = [];
  for await (const chunk of source) {
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (end === 0) {
      held.push(chunk);
      continue;
    }
    yield rewriteEach(Buffer.concat([...held, chunk.subarray(0, end)]));
    held = [chunk.slice(end)];
  }
  yield rewriteEach(Buffer.concat(held));
}

function rewriteEach(bytes: Buffer): Buffer {
  const rewritten: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const lineFeed = bytes.indexOf(LINE_FEED, start);
    const end = lineFeed === -1 ? bytes.length : lineFeed;
    rewritten.push(rewriteJson(bytes.subarray(start, end)));
    if (lineFeed !== -1) rewritten.push(bytes.subarray(lineFeed, lineFeed + 1));
    start = end + 1;
  }
  return Buffer.concat(rewritten);
}

function rewriteJson(bytes: Buffer): Buffer {
  if (bytes.length === 0) return bytes;
  try {
    return Buffer.from(JSON.stringify(rewriteValue('', parseForeignJson(bytes.toString('utf8')))));
  } catch {
    return Buffer.alloc(bytes.length, ' ');
  }
}

function rewriteValue(member: string, value: JsonValue): JsonValue {
  if (typeof value === 'string') return INPUTS.has(member) ? toFiller(value) : rewriteText(member, value);
  if (INPUTS.has(member)) return fillInput(value);
  return mapValue(value, rewriteValue);
}

/** The input of a tool is measured as JSON. */
function fillInput(value: JsonValue): JsonValue {
  if (typeof value === 'string') return toFiller(JSON.stringify(value).slice(1, -1));
  return mapValue(value, (_member, child) => fillInput(child));
}

function mapValue(value: JsonValue, rewrite: (member: string, child: JsonValue) => JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((element) => rewrite('', element));
  if (typeof value !== 'object' || value === null) return value;
  const rewritten: JsonObject = {};
  for (const [index, [name, child]] of Object.entries(value).entries()) {
    // Names of equal length must stay different.
    const filler = `${index}`.padStart(Buffer.byteLength(name), 'x');
    Object.defineProperty(rewritten, IS_MEMBER.test(name) ? name : filler, {
      ...{ value: rewrite(name, child), enumerable: true, configurable: true, writable: true },
    });
  }
  return rewritten;
}

function rewriteText(member: string, text: string): string {
  if (PLACES.has(member)) return text;
  const isNamed = NAMES.has(member) || IS_ID.test(member) || IS_TIME.test(member);
  if (isNamed && (IS_NAME.test(text) || !Number.isNaN(Date.parse(text)))) return text;
  // Some database columns hold JSON.
  if (/^[[{]/.test(text)) {
    try {
      return JSON.stringify(rewriteValue('', parseForeignJson(text)));
    } catch {
      return toFiller(text);
    }
  }
  return toFiller(text);
}

const toFiller = (text: string): string => 'x'.repeat(Buffer.byteLength(text));
