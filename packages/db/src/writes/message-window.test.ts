import type { TranscriptMessage } from '@recount/core';
import { expect, it } from 'vitest';
import { createMessageWindow } from './message-window.ts';

const toMessage = (ordinal: number, model: string | null = null) =>
  ({ id: `id-${ordinal}`, ordinal, model }) as TranscriptMessage;
const toMessages = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => toMessage(first + index));

function fill(batchSize: number, count: number) {
  const released: TranscriptMessage[] = [];
  const window = createMessageWindow((message) => released.push(message));
  for (let first = 0; first < count; first += batchSize) {
    window.add({ messages: toMessages(first, batchSize), updatedMessages: [] });
  }
  return { window, released };
}

it.each([1, 7, 400, 5000])('lets every message out once, in order, from batches of %d', (batchSize) => {
  const { window, released } = fill(batchSize, 14_000);
  const count = Math.ceil(14_000 / batchSize) * batchSize;
  expect(released.length).toBeLessThan(count);
  window.close();
  expect(released.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: count }, (_, index) => index));
});

it('changes what waits, and keeps what has left for an update', () => {
  const { window, released } = fill(500, 2500);
  const firstWaiting = released.length;
  expect(firstWaiting).toBeGreaterThan(0);
  const updatedMessages = [0, firstWaiting - 1, firstWaiting, 2499].map((ordinal) => toMessage(ordinal, 'first'));
  window.add({ messages: [], updatedMessages });
  window.add({ messages: [], updatedMessages: [toMessage(0, 'second')] });
  expect(window.changedCount).toBe(2);
  expect(window.takeChanged()).toEqual([toMessage(0, 'second'), toMessage(firstWaiting - 1, 'first')]);
  expect(window.changedCount).toBe(0);
  window.close();
  const changed = released.filter(({ model }) => model !== null);
  expect(changed.map(({ ordinal }) => ordinal)).toEqual([firstWaiting, 2499]);
  expect(window.takeChanged()).toEqual([]);
});

it('takes a change for an update where nothing waits', () => {
  const { window } = fill(10, 10);
  window.close();
  window.add({ messages: [], updatedMessages: [toMessage(9, 'late')] });
  expect(window.takeChanged()).toEqual([toMessage(9, 'late')]);
});
