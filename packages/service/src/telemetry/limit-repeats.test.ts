import { expect, it } from 'vitest';
import { limitRepeats, type RepeatedReason } from './limit-repeats.ts';

it('logs repeated messages once in a while, with their count', () => {
  const lines: RepeatedReason[] = [];
  let nowMs = 0;
  const report = limitRepeats((line) => lines.push(line), { intervalMs: 1000, nowMs: () => nowMs });
  for (const file of ['base/1', 'base/2', 'base/3']) report(`Postgres error 53100: could not extend file "${file}"`);
  report('Error: connect ECONNREFUSED');
  nowMs = 1000;
  report('Postgres error 53100: could not extend file "base/4"');
  nowMs = 2000;
  report('Postgres error 53100: could not extend file "base/5"');
  expect(lines).toEqual([
    { reason: 'Postgres error 53100: could not extend file "base/1"' },
    { reason: 'Error: connect ECONNREFUSED' },
    { reason: 'Postgres error 53100: could not extend file "base/4"', repeated: 2 },
    { reason: 'Postgres error 53100: could not extend file "base/5"' },
  ]);
});

it('remembers a bounded number of reasons', () => {
  let count = 0;
  const report = limitRepeats(() => void count++);
  for (let index = 0; index < 1000; index++) report(`Error: ${index}`);
  expect(count).toBe(1000);
});
