import { identifyTranscript } from '@recount/core';
import type { AgentName } from '@recount/core/live';

const AGENTS = new Map<string | undefined, AgentName>([
  ['claude-stream-json', 'claude'],
  ['codex-exec', 'codex'],
  ['amp-stream-json', 'amp'],
]);
/** Beyond this nothing is waited for: agents whose first lines are longer are the default one. */
const MAX_HEAD_BYTES = 64 * 1024;
const DEFAULT_AGENT = 'claude';
const LINE_FEED = 0x0a;

/**
 * Whose stream it is, by its first lines; Claude Code's where they do not tell. No byte is held back for longer than it
 * takes to decide.
 */
export async function detectAgent(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ agent: AgentName; chunks: AsyncIterable<Uint8Array> }> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  let agent: AgentName | undefined;
  let isEnded = false;
  let checkedBytes = 0;
  while (agent === undefined && head.length <= MAX_HEAD_BYTES) {
    const next = await iterator.next();
    isEnded = next.done === true;
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
    const unchecked = head.subarray(checkedBytes, Math.min(head.lastIndexOf(LINE_FEED) + 1, MAX_HEAD_BYTES));
    // Lines that are no JSON cost as much as those that are.
    if (unchecked.includes('{')) agent = AGENTS.get(identifyTranscript({ head: unchecked }).format);
    checkedBytes += unchecked.length;
  }
  return { agent: agent ?? DEFAULT_AGENT, chunks: resume(head, isEnded, iterator) };
}

async function* resume(
  head: Uint8Array,
  isEnded: boolean,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  while (!isEnded) {
    const next = await rest.next();
    if (next.done) return;
    yield next.value;
  }
}
