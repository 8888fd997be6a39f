import {
  type AgentEvent,
  type AgentExit,
  type AgentParser,
  type CloseEvent,
  createTextTail,
  isComplete,
  toCloseEvent,
} from '@recount/core/live';
import type { Recording } from './recording.ts';
import type { StreamView } from './stream-view.ts';

export interface FollowOptions {
  /** The agent's stdout. */
  chunks: AsyncIterable<Uint8Array>;
  /** Bytes that have already been shown, which are only recorded. */
  shown?: Uint8Array | undefined;
  /** Undefined for streams that cannot be parsed. */
  parser: AgentParser | undefined;
  view: StreamView;
  recording: Recording | undefined;
  /** The answer that makes the run a success. */
  expectedAnswer: string | undefined;
  onActivity: () => void;
  /** Resolves to how the agent ended, or undefined if unknown; called when the bytes have ended. */
  waitForExit(): Promise<AgentExit | undefined>;
}

interface FollowedStream {
  close: CloseEvent;
  /** True if the answer was the expected one; undefined if none was expected. */
  isAsExpected: boolean | undefined;
}

/** The interval of polling the parser. */
const POLL_MS = 500;
/** More than the longest line that is read, which may contain the answer. */
const ANSWER_BYTES = 16 * 1024 * 1024;

/** Records and shows a stream as it arrives. Every byte is in the spool before it is shown. */
export async function followStream(options: FollowOptions): Promise<FollowedStream> {
  const { chunks, shown, parser, view, recording, expectedAnswer, onActivity, waitForExit } = options;
  const answer = expectedAnswer === undefined ? undefined : createTextTail(ANSWER_BYTES);
  const showAll = async (events: readonly AgentEvent[]): Promise<void> => {
    for (const event of events) {
      if (event.type === 'session-start' && event.sessionId !== '') recording?.nameSession(event.sessionId);
      await view.showEvent(event);
    }
  };
  let showing = Promise.resolve();
  const show = (events: readonly AgentEvent[] = []): Promise<void> => {
    showing = showing.then(() => showAll(events));
    return showing;
  };
  // A failure is thrown by the next `show` of the loop below.
  const poll = setInterval(() => void show(parser?.poll()).catch(() => undefined), POLL_MS);
  try {
    if (shown !== undefined && shown.length > 0) await recording?.write(shown);
    for await (const chunk of chunks) {
      onActivity();
      await recording?.write(chunk);
      answer?.push(chunk);
      await view.showBytes(chunk);
      await show(parser?.push(chunk));
    }
    await show(parser?.finish());
  } finally {
    clearInterval(poll);
  }
  const exit = await waitForExit();
  const close = toCloseEvent(Date.now(), exit, parser?.toSummary());
  await view.showEvent(close);
  await recording?.close(exit === undefined ? null : { exitCode: exit.exitCode, signal: exit.signal });
  return {
    close,
    isAsExpected: expectedAnswer === undefined ? undefined : isComplete(answer?.toString() ?? '', expectedAnswer),
  };
}
