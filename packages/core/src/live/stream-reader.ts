import {
  createLiveLineDecoder,
  type LiveLine,
  type LiveLineDecoderOptions,
  type LiveWarning,
} from './live-line-decoder.ts';
import type { StreamSummary } from './stream-summary.ts';

/** What understands the lines of one agent's stream. */
export interface StreamReader<E> {
  read(line: LiveLine): E[];
  /** The event for a warning, which is counted. */
  warn(warning: LiveWarning): E;
  /** What has waited long enough by now. */
  poll(): E[];
  /** What still waited when the stream ended. */
  finish(): E[];
  toSummary(): StreamSummary;
}

/** A reader fed with bytes. */
export interface ByteReader<E> {
  /** The events of the lines that the bytes complete: none, or several. A partial line waits. */
  push(bytes: Uint8Array | string): E[];
  /** The events of a last line that no line feed ended, and of what still waited. To be called once. */
  finish(): E[];
  /**
   * The events that waited for a line, such as a tool's start, and wait no longer. To be called now and then while no
   * bytes come; `push` gives them too.
   */
  poll(): E[];
  /** May be asked at any time. */
  toSummary(): StreamSummary;
}

export function createByteReader<E>(reader: StreamReader<E>, options?: LiveLineDecoderOptions): ByteReader<E> {
  let events: E[] = [];
  const decoder = createLiveLineDecoder(
    {
      onLine(line) {
        for (const event of reader.read(line)) events.push(event);
      },
      onWarning: (warning) => events.push(reader.warn(warning)),
    },
    options,
  );
  const takeEvents = (): E[] => {
    const taken = events;
    events = [];
    return taken;
  };
  return {
    push(bytes) {
      decoder.push(bytes);
      return takeEvents();
    },
    poll: reader.poll,
    finish() {
      decoder.end();
      return [...takeEvents(), ...reader.finish()];
    },
    toSummary: reader.toSummary,
  };
}
