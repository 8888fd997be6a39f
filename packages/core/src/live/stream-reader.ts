import {
  createLiveLineDecoder,
  type LiveLine,
  type LiveLineDecoderOptions,
  type LiveWarning,
} from './live-line-decoder.ts';
import type { StreamSummary } from './stream-summary.ts';

/** Interprets the lines of one agent's stream. */
export interface StreamReader<E> {
  read(line: LiveLine): E[];
  /** Counts a warning and returns its event. */
  warn(warning: LiveWarning): E;
  /** Events that have waited long enough by now. */
  poll(): E[];
  /** Events that were still waiting when the stream ended. */
  finish(): E[];
  toSummary(): StreamSummary;
}

/** A reader fed with bytes. */
export interface ByteReader<E> {
  /** The events of the lines that the bytes complete: none or several. A partial line is kept for later. */
  push(bytes: Uint8Array | string): E[];
  /** The events of a last line without a line feed, and those still waiting. To be called once. */
  finish(): E[];
  /**
   * Events that were waiting for a later line, such as a tool's start, and are now due. Call it now and then while no
   * bytes come; `push` returns them too.
   */
  poll(): E[];
  /** May be called at any time. */
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
