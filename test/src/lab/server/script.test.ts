import { expect, it } from 'vitest';
import { createScript } from './script.ts';

const request = (...userTexts: string[]) => ({ model: 'm', isStream: true, userTexts, offeredTools: ['shell'] });
const create = () =>
  createScript({ 'LAB-a-1': [{ text: 'first' }, { text: 'second' }], 'LAB-b-2': [{ text: 'other' }] });

it('each request takes the next step of the last marker', () => {
  const script = create();
  expect(script.next(request('Do LAB-a-1.')).step.text).toBe('first');
  expect(script.next(request('Do LAB-a-1.', 'Now LAB-b-2!')).step.text).toBe('other');
  expect(script.next(request('Do LAB-a-1.', '<system-reminder>The time</system-reminder>')).step.text).toBe('second');
  expect(script.left()).toEqual([]);
});

it('steps that no request took are left', () => {
  const script = create();
  script.next(request('LAB-a-1'));
  expect(script.left()).toEqual(['LAB-a-1: 1', 'LAB-b-2: 1']);
});

it.each([
  ['offers no tools', { ...request('A title for: LAB-a-1'), offeredTools: [] }],
  ['ends in the wish for a summary', request('LAB-a-1', 'Please summarize the conversation so far.')],
  ['holds the conversation with the wish for a summary', request(`Summarize this: LAB-a-1 ${'x'.repeat(3_000)}`)],
  ['has no marker', request('Hello')],
  ['has a marker that nothing was written for', request('LAB-c-3')],
])("a request that %s is the program's own", (_, own) => {
  const script = create();
  expect(script.next(own)).toEqual({ step: { text: expect.stringContaining('title') } });
  expect(script.left()).toHaveLength(2);
});
