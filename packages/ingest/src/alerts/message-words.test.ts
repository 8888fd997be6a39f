import { expect, it } from 'vitest';
import { toLine } from './message-words.ts';

it('shows control characters as spaces, and characters that make a name look like another as their codes', () => {
  expect(toLine('team\r\nBcc: x')).toBe('team Bcc: x');
  expect(toLine('ada\u202Egro.live\u200B\uFEFF')).toBe('ada\\u202egro.live\\u200b\\ufeff');
  expect(toLine('می\u200Cخواهم 👩\u200D💻')).toBe('می\u200Cخواهم 👩\u200D💻');
});
