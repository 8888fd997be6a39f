import { EventEmitter, on } from 'node:events';
import type { Readable } from 'node:stream';
import { claudeCodeProgram } from '../agents/claude-code/agent.ts';
import type { CloseEvent, LiveEvent } from './live-event.ts';
import type { LiveLineDecoderOptions } from './live-line-decoder.ts';
import { type AgentParser, createAgentParser } from './parser-for.ts';
import { toCloseEvent } from './stream-outcome.ts';
import type { StreamSummary } from './stream-summary.ts';

export interface StreamParserOptions extends LiveLineDecoderOptions {
  /** The caller's own id of the session. */
  sessionId: string;
  /** Bytes or text of `claude -p --output-format stream-json`. Reading starts immediately; nothing is written to it. */
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

export type ParserEvent = LiveEvent | ErrorEvent;

type EventsByType = { [Type in ParserEvent['type']]: [Extract<ParserEvent, { type: Type }>] };

export interface StreamParserEvents extends EventsByType {}

/**
 * `sending` until the first line, then `streaming`; finally the state of the `close` event, either `complete`, or
 * `error` if the source or the result failed, or the stream ended within a turn.
 */
export type StreamState = 'sending' | 'streaming' | CloseEvent['state'];

/**
 * A running agent's stream as events. Listen to some, or iterate over all events. An iterator yields the events from
 * its creation up to `close`; while it lags behind, the source is paused. Reading starts after the caller's synchronous
 * code, so listeners added immediately miss nothing. An `error` without a listener is reported by `close` only.
 */
export interface StreamParser extends EventEmitter<StreamParserEvents>, AsyncIterable<ParserEvent> {
  readonly sessionId: string;
  readonly state: StreamState;
  /** The figures so far; after `close`, the final ones. */
  toSummary(): StreamSummary;
}

/** Events an iterator may lag behind before the source is paused; one chunk of the source may exceed it. */
const MAX_WAITING_EVENTS = 256;
/** The interval of polling the parser for results that have waited long enough. */
const POLL_MS = 500;

export function createStreamParser(options: StreamParserOptions): StreamParser {
  return new ReadableStreamParser(options);
}

class ReadableStreamParser extends EventEmitter<StreamParserEvents> implements StreamParser {
  readonly sessionId: string;
  readonly #source: Readable;
  readonly #parser: AgentParser;
  readonly #now: () => number;
  /** One for each iterator. */
  readonly #followers = new Set<EventEmitter>();
  readonly #lagging = new Set<EventEmitter>();
  #onSessionIdCaptured: StreamParserOptions['onSessionIdCaptured'];
  #state: StreamState = 'sending';
  #isClosed = false;
  #poll: NodeJS.Timeout | undefined;

  constructor(options: StreamParserOptions) {
    super();
    this.sessionId = options.sessionId;
    this.#source = options.source;
    this.#now = options.now;
    this.#onSessionIdCaptured = options.onSessionIdCaptured;
    this.#parser = createAgentParser({ id: 'claude-code', program: claudeCodeProgram }, options);
    this.#source.on('error', (error) => this.#close(error));
    this.#source.on('end', () => this.#close(null));
    this.#source.on('close', () => this.#close(null));
    queueMicrotask(() => this.#start());
  }

  get state(): StreamState {
    return this.#state;
  }

  toSummary(): StreamSummary {
    return this.#parser.toSummary();
  }

  [Symbol.asyncIterator](): AsyncGenerator<ParserEvent> {
    const follower = Object.assign(new EventEmitter(), {
      pause: () => void this.#lagging.add(follower),
      resume: () => this.#resume(follower),
    });
    const events = on(follower, 'event', {
      close: ['end'],
      highWaterMark: MAX_WAITING_EVENTS,
      lowWaterMark: 1,
    });
    if (this.#isClosed) follower.emit('end');
    else this.#followers.add(follower);
    return this.#iterate(follower, events);
  }

  async *#iterate(follower: EventEmitter, events: AsyncIterable<ParserEvent[]>): AsyncGenerator<ParserEvent> {
    try {
      for await (const emitted of events) yield* emitted;
    } finally {
      this.#followers.delete(follower);
      this.#resume(follower);
    }
  }

  #start(): void {
    this.#source.on('data', (chunk: Uint8Array | string) => this.#emitAll(this.#parser.push(chunk)));
    this.#poll = setInterval(() => this.#emitAll(this.#parser.poll()), POLL_MS);
    this.#poll.unref();
    // A destroyed or ended source emits nothing more.
    if (this.#source.destroyed || this.#source.readableEnded) this.#close(this.#source.errored);
  }

  #resume(follower: EventEmitter): void {
    if (this.#lagging.delete(follower) && this.#lagging.size === 0) this.#source.resume();
  }

  #emitAll(events: readonly ParserEvent[]): void {
    if (this.#state === 'sending' && this.toSummary().lineCount > 0) this.#state = 'streaming';
    for (const event of events) {
      if (event.type === 'session-start' && event.sessionId !== '') {
        this.#onSessionIdCaptured?.(event.sessionId);
        this.#onSessionIdCaptured = undefined;
      }
      for (const follower of this.#followers) follower.emit('event', event);
      // Node would throw an `error` without a listener.
      if (event.type !== 'error' || this.listenerCount('error') > 0) this.emit(event.type, event as never);
    }
    if (this.#lagging.size > 0) this.#source.pause();
  }

  #close(error: Error | null): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#poll);
    this.#emitAll(this.#parser.finish());
    const close = toCloseEvent(this.#now(), undefined, this.toSummary());
    this.#state = error === null ? close.state : 'error';
    if (error === null) this.#emitAll([close]);
    else
      this.#emitAll([
        { type: 'error', error },
        { ...close, state: 'error', success: false, error: error.message },
      ]);
    for (const follower of this.#followers) follower.emit('end');
  }
}
