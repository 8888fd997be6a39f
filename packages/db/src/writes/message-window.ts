import type { TranscriptBatch, TranscriptMessage } from '@recount/core';

/** Messages held back; half of them leave at a time. Most late lines come within hundreds of messages. */
const MAX_WAITING_MESSAGES = 2000;

export interface MessageWindow {
  add(batch: Pick<TranscriptBatch, 'messages' | 'updatedMessages'>): void;
  /** Lets out the messages that still wait. */
  close(): void;
  /** Messages that changed after they were let out, since the last take; each once, as it is now. */
  takeChanged(): TranscriptMessage[];
  readonly changedCount: number;
}

/**
 * Holds a transcript's latest messages back until later lines of the same responses are no longer likely: what changes
 * here needs no UPDATE. Lets them out to `onMessage`, in their order.
 */
export function createMessageWindow(onMessage: (message: TranscriptMessage) => void): MessageWindow {
  const waiting: TranscriptMessage[] = [];
  const changed = new Map<string, TranscriptMessage>();

  const release = (count: number): void => {
    for (const message of waiting.splice(0, count)) onMessage(message);
  };
  return {
    add({ messages, updatedMessages }) {
      for (const message of updatedMessages) {
        const index = message.ordinal - (waiting[0]?.ordinal ?? Number.POSITIVE_INFINITY);
        if (index >= 0) waiting[index] = message;
        else changed.set(message.id, message);
      }
      for (const message of messages) waiting.push(message);
      if (waiting.length >= MAX_WAITING_MESSAGES) release(waiting.length - MAX_WAITING_MESSAGES / 2);
    },
    close: () => release(waiting.length),
    takeChanged() {
      const taken = [...changed.values()];
      changed.clear();
      return taken;
    },
    get changedCount() {
      return changed.size;
    },
  };
}
