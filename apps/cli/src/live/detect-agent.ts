import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_AGENT_ID, identifyTranscript } from '@recount/core';
import { agentOf, type RunnableAgent } from '@recount/core/live';

/** Beyond this no bytes stay, and a stream whose first lines are longer is assumed to be the default agent's. */
const MAX_KEPT_BYTES = 256 * 1024;
/** Longer lines are not examined. */
const MAX_LINE_BYTES = 64 * 1024;
/** The time without output while the format is unknown. */
const MAX_WAIT_MS = 500;
const LINE_FEED = 0x0a;
const OPENING_BRACE = 0x7b;

interface DetectOptions {
  /** Shows raw bytes while the agent is unknown; undefined if raw bytes cannot be shown. */
  showRaw?: ((bytes: Uint8Array) => Promise<void>) | undefined;
  /** True if the result should contain the raw output, at most MAX_KEPT_BYTES. */
  keepsShown?: boolean;
  onActivity?: () => void;
}

interface DetectedStream {
  agent: RunnableAgent | undefined;
  /** Bytes that have been shown raw, if they are still there. */
  shown: Uint8Array;
  /** The bytes after those. */
  chunks: AsyncIterable<Uint8Array>;
}

/**
 * Detects the agent of a stream by the first line that identifies it; the default agent if none does. Earlier lines are
 * shown with that one, or raw after 500 ms.
 */
export async function detectAgent(
  source: AsyncIterable<Uint8Array>,
  { showRaw, keepsShown, onActivity }: DetectOptions = {},
): Promise<DetectedStream> {
  const iterator = source[Symbol.asyncIterator]();
  const pause = new AbortController();
  const waited = sleep(MAX_WAIT_MS, 'waited' as const, { signal: pause.signal }).catch(() => 'waited' as const);
  let kept: Buffer = Buffer.alloc(0);
  let searchedBytes = 0;
  let shownBytes = 0;
  let isRaw = false;
  let agent: RunnableAgent | undefined;
  let next = iterator.next();
  let isEnded = false;
  try {
    while (agent === undefined && !isEnded && kept.length <= MAX_KEPT_BYTES) {
      const result = isRaw || showRaw === undefined ? await next : await Promise.race([next, waited]);
      if (result === 'waited') isRaw = true;
      else if (result.done) isEnded = true;
      else {
        onActivity?.();
        kept = Buffer.concat([kept, result.value]);
        next = iterator.next();
        // Awaited below; until then a failure has no other listener.
        next.catch(() => undefined);
        const linesEnd = kept.lastIndexOf(LINE_FEED) + 1;
        const found = findAgent(kept, searchedBytes, linesEnd);
        searchedBytes = Math.max(searchedBytes, found?.lineStart ?? linesEnd);
        agent = found?.agent;
      }
      if (!isRaw || showRaw === undefined) continue;
      // Only bytes that may be part of the identifying line wait.
      const end = agent !== undefined || kept[searchedBytes] === OPENING_BRACE ? searchedBytes : kept.length;
      if (end > shownBytes) await showRaw(kept.subarray(shownBytes, end));
      shownBytes = Math.max(shownBytes, end);
      if (keepsShown) continue;
      kept = kept.subarray(shownBytes);
      searchedBytes = Math.max(0, searchedBytes - shownBytes);
      shownBytes = 0;
    }
  } finally {
    pause.abort();
  }
  return {
    agent: agent ?? agentOf(DEFAULT_AGENT_ID),
    shown: kept.subarray(0, shownBytes),
    chunks: resume(kept.subarray(shownBytes), isEnded ? undefined : next, iterator),
  };
}

/** The first line between `start` and `end` that identifies its agent. */
function findAgent(bytes: Buffer, start: number, end: number): { agent: RunnableAgent; lineStart: number } | undefined {
  for (let lineStart = start; lineStart < end; ) {
    const lineEnd = bytes.indexOf(LINE_FEED, lineStart) + 1;
    const line = bytes.subarray(lineStart, Math.min(lineEnd, lineStart + MAX_LINE_BYTES));
    // Lines that are not JSON would take as long to examine as those that are.
    const agent = line.includes(OPENING_BRACE) ? agentOf(identifyTranscript({ head: line }).agent ?? '') : undefined;
    if (agent !== undefined) return { agent, lineStart };
    lineStart = lineEnd;
  }
  return undefined;
}

async function* resume(
  kept: Uint8Array,
  pending: Promise<IteratorResult<Uint8Array>> | undefined,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (kept.length > 0) yield kept;
  for (let next = await pending; next?.done === false; next = await rest.next()) yield next.value;
}
