import type { JsonObject } from '../lines/json.ts';
import { parseForeignJson } from '../lines/json-line.ts';
import { readObject } from '../records/fields.ts';

/**
 * The agent's final answer, which is the text of the last result line of its output (or for Codex, which has none, the
 * last message), else the content of the last `<response>…</response>` in the lines that are not JSON. Null if there is
 * neither.
 */
export function extractResult(output: string): string | null {
  /** Lines that are not JSON, last one first. */
  const plainLines: string[] = [];
  for (let end = output.length; end > 0; ) {
    const start = output.lastIndexOf('\n', end - 1) + 1;
    const text = output.slice(start, end);
    const line = parseObject(text);
    if (line === undefined) plainLines.push(text);
    const answer = line && toAnswer(line);
    if (typeof answer === 'string') return answer;
    // A result without text ends the search. Earlier results belong to earlier turns.
    if (answer === null) return extractResponse(plainLines);
    end = start - 1;
  }
  return extractResponse(plainLines);
}

/**
 * True if the agent's answer equals the expected text, ignoring case and surrounding white space. Output without JSON
 * and without `<response>` is itself the answer.
 */
export function isComplete(output: string, expected: string): boolean {
  const answer = extractResult(output) ?? output;
  return answer.trim().toLowerCase() === expected.trim().toLowerCase();
}

/** Null for a result without text; undefined for a line that is not an answer. */
function toAnswer(line: JsonObject): string | null | undefined {
  if (line.type === 'result') return typeof line.result === 'string' ? line.result : null;
  const item = line.type === 'item.completed' ? readObject(line.item) : undefined;
  return item?.type === 'agent_message' && typeof item.text === 'string' ? item.text : undefined;
}

function parseObject(line: string): JsonObject | undefined {
  if (!line.trimStart().startsWith('{')) return undefined;
  try {
    return readObject(parseForeignJson(line));
  } catch {
    // Not JSON: continue with the line before.
    return undefined;
  }
}

function extractResponse(plainLines: string[]): string | null {
  const output = plainLines.reverse().join('\n');
  const close = output.lastIndexOf('</response>');
  const open = close === -1 ? -1 : output.lastIndexOf('<response>', close);
  return open === -1 ? null : output.slice(open + '<response>'.length, close);
}
