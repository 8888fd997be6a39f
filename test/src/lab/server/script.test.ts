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

it('a command for a compaction that was passed on is no wish for a summary', () => {
  expect(create().next(request('LAB-b-2', '/compact'))).toMatchObject({ marker: 'LAB-b-2', isSummary: false });
});

it('a summary in the place of the conversation is no wish for one', () => {
  const summary = `The conversation so far has been compacted. ${'x'.repeat(400)} Here is a summary.`;
  expect(create().next(request('LAB-b-2', summary))).toMatchObject({ marker: 'LAB-b-2', isSummary: false });
});

it('steps that not all programs ask for are not left', () => {
  const script = createScript({ 'LAB-a-1': [{ fault: 'cut' }, { text: 'whole', isOptional: true }] });
  script.next(request('LAB-a-1'));
  expect(script.left()).toEqual([]);
});

it.each([
  ['offers no tools', { ...request('A title for: LAB-a-1'), offeredTools: [] }],
  ['ends in the wish for a summary', request('LAB-a-1', 'Please summarize the conversation so far.')],
  ['holds the conversation with the wish for a summary', request(`Summarize this: LAB-a-1 ${'x'.repeat(3_000)}`)],
  ['ends in long instructions', request('LAB-a-1', `Update your memory. ${'x'.repeat(400)}`)],
  ['has no marker', request('Hello')],
  ['has a marker that nothing was written for', request('LAB-c-3')],
])("a request that %s is the program's own", (_, own) => {
  const script = create();
  expect(script.next(own)).toMatchObject({ step: { text: expect.stringContaining('title') } });
  expect(script.next(own).isSummary).toBe(/summar/.test(own.userTexts.join().toLowerCase()));
  expect(script.left()).toHaveLength(2);
});
