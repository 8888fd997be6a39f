import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { claudeCodeProgram } from '../agents/claude-code/agent.ts';
import type { LiveLineDecoderOptions } from './live-line-decoder.ts';
import { createLiveReader } from './live-reader.ts';
import type {
  AssistantEvent,
  GenericEvent,
  InitEvent,
  PromptEvent,
  ResultEvent,
  StreamEvent,
  ToolResultEvent,
  UserEvent,
  WarningEvent,
} from './stream-event.ts';
import { type ByteReader, createByteReader } from './stream-reader.ts';
import type { StreamSummary } from './stream-summary.ts';

/** Passes values to an async iterator, in order, as it asks for them. */
interface EventQueue<T> {
  push(value: T): void;
  /** No more will come. */
  end(): void;
  /** Values not yet consumed. */
  readonly size: number;
  readonly iterator: AsyncIterableIterator<T>;
}

/** `onShift` is called after a value is taken, `onReturn` when the iterator is closed early. */
function createEventQueue<T>(onShift: () => void, onReturn: () => void): EventQueue<T> {
  let values: T[] = [];
  let start = 0;
  let isEnded = false;
  let wake: () => void = () => {};

  const shift = (): T | undefined => {
    const value = values[start++];
    // Compacted only now and then: `shift` on a long array would move all of it each time.
    if (start * 2 > values.length) {
      values = values.slice(start);
      start = 0;
    }
    return value;
  };

  async function* iterate(): AsyncGenerator<T> {
    try {
      for (;;) {
        while (values.length > start) {
          const value = shift() as T;
          onShift();
          yield value;
        }
        if (isEnded) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      onReturn();
    }
  }

  return {
    push(value) {
      values.push(value);
      wake();
    },
    end() {
      isEnded = true;
      wake();
    },
    get size() {
      return values.length - start;
    },
    iterator: iterate(),
  };
}

export interface StreamParserOptions extends LiveLineDecoderOptions {
  /** The caller's own id of the session. */
  sessionId: string;
  /** Bytes or text of `claude -p --output-format stream-json`. Reading starts at once; nothing is written to it. */
  source: Readable;
  /** The time, in milliseconds since 1970. */
  now: () => number;
  /** Called once with the agent's id of the session, from its first init line. */
  onSessionIdCaptured?: ((agentSessionId: string) => void) | undefined;
}

/** The source failed; the stream was read up to that point. */
export interface ErrorEvent {
  type: 'error';
  error: Error;
}

/** Always the last event. */
export interface CloseEvent {
  type: 'close';
  summary: StreamSummary;
  /** Why the source failed, or null. */
  error: Error | null;
}

export type ParserEvent = StreamEvent | ErrorEvent | CloseEvent;

export interface StreamParserEvents {
  init: [InitEvent];
  user: [UserEvent];
  assistant: [AssistantEvent];
  tool_result: [ToolResultEvent];
  result: [ResultEvent];
  prompt: [PromptEvent];
  generic: [GenericEvent];
  warning: [WarningEvent];
  error: [ErrorEvent];
  close: [CloseEvent];
}

/**
 * `sending` until the first line, then `streaming`; finally `complete`, or `error` if the source or the result failed.
 */
export type StreamState = 'sending' | 'streaming' | 'complete' | 'error';

/**
 * A running agent's stream as events: listen to some, or iterate over all of them. An iterator yields the events from
 * its creation up to `close`; while it lags behind, the source is paused. Reading starts after the caller's synchronous
 * code, so listeners added immediately miss nothing. An `error` that nobody listens to is reported by `close` only.
 */
export interface StreamParser extends EventEmitter<StreamParserEvents>, AsyncIterable<ParserEvent> {
  readonly sessionId: string;
  readonly state: StreamState;
  /** The figures so far; after `close`, the final ones. */
  toSummary(): StreamSummary;
}

/** Events an iterator may lag behind before the source is paused; one chunk of the source may exceed it. */
const MAX_WAITING_EVENTS = 256;
/** How often the reader is polled for results that have waited long enough. */
const POLL_MS = 500;

export function createStreamParser(options: StreamParserOptions): StreamParser {
  return new ReadableStreamParser(options);
}

class ReadableStreamParser extends EventEmitter<StreamParserEvents> implements StreamParser {
  readonly sessionId: string;
  readonly #source: Readable;
  readonly #reader: ByteReader<StreamEvent>;
  readonly #queues = new Set<EventQueue<ParserEvent>>();
  #onSessionIdCaptured: StreamParserOptions['onSessionIdCaptured'];
  #state: StreamState = 'sending';
  #isPaused = false;
  #isClosed = false;
  #poll: NodeJS.Timeout | undefined;

  constructor(options: StreamParserOptions) {
    super();
    this.sessionId = options.sessionId;
    this.#source = options.source;
    this.#onSessionIdCaptured = options.onSessionIdCaptured;
    this.#reader = createByteReader(createLiveReader(claudeCodeProgram, options.now), options);
    this.#source.on('error', (error) => this.#close(error));
    this.#source.on('end', () => this.#close(null));
    this.#source.on('close', () => this.#close(null));
    queueMicrotask(() => this.#start());
  }

  get state(): StreamState {
    return this.#state;
  }

  toSummary(): StreamSummary {
    return this.#reader.toSummary();
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<ParserEvent> {
    const queue = createEventQueue<ParserEvent>(
      () => this.#resume(),
      () => {
        this.#queues.delete(queue);
        this.#resume();
      },
    );
    if (this.#isClosed) queue.end();
    else this.#queues.add(queue);
    return queue.iterator;
  }

  #start(): void {
    this.#source.on('data', (chunk: Uint8Array | string) => this.#giveAll(this.#reader.push(chunk)));
    this.#poll = setInterval(() => this.#giveAll(this.#reader.poll()), POLL_MS);
    this.#poll.unref();
    // A destroyed or ended source emits nothing more.
    if (this.#source.destroyed || this.#source.readableEnded) this.#close(this.#source.errored);
  }

  #resume(): void {
    if (!this.#isPaused || [...this.#queues].some((queue) => queue.size > 0)) return;
    this.#isPaused = false;
    this.#source.resume();
  }

  #giveAll(events: readonly StreamEvent[]): void {
    if (this.#state === 'sending' && this.#reader.toSummary().lineCount > 0) this.#state = 'streaming';
    for (const event of events) {
      if (event.type === 'init' && event.sessionId !== '') {
        this.#onSessionIdCaptured?.(event.sessionId);
        this.#onSessionIdCaptured = undefined;
      }
      this.#give(event);
    }
    if (this.#isPaused || ![...this.#queues].some((queue) => queue.size > MAX_WAITING_EVENTS)) return;
    this.#isPaused = true;
    this.#source.pause();
  }

  #give(event: ParserEvent): void {
    for (const queue of this.#queues) queue.push(event);
    // Node would throw an `error` without a listener.
    if (event.type !== 'error' || this.listenerCount('error') > 0) this.emit(event.type, event as never);
  }

  #close(error: Error | null): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#poll);
    this.#giveAll(this.#reader.finish());
    const summary = this.toSummary();
    this.#state = error !== null || summary.lastResult?.success === false ? 'error' : 'complete';
    if (error !== null) this.#give({ type: 'error', error });
    this.#give({ type: 'close', summary, error });
    for (const queue of this.#queues) queue.end();
  }
}
