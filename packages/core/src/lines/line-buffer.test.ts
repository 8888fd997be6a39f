import { expect, it } from 'vitest';
import { createLineBuffer } from './line-buffer.ts';

const MIB = 1024 ** 2;

function cut(line: Record<string, string>): { bytes: number; value: Record<string, string> } {
  const buffer = createLineBuffer(33 * MIB, 'cut');
  const { bytes = Buffer.alloc(0) } = buffer.take(Buffer.from(JSON.stringify(line)));
  return { bytes: bytes.length, value: JSON.parse(bytes.toString()) as Record<string, string> };
}

it('keeps 2 MiB of a long text of a line that is cut, followed by its length', () => {
  const { value } = cut({ text: 'x'.repeat(34 * MIB), after: 'y' });
  expect(value.text).toMatch(/x\.\.\. \[cut: 35651584 bytes\]$/);
  expect(Math.abs((value.text ?? '').length - 2 * MIB)).toBeLessThan(100);
  expect(value.after).toBe('y');
});

it('keeps 32 MiB of a line that is cut, where the first object gets half', () => {
  const texts = Array.from({ length: 40 }, (_, index) => [`text-${index}`, 'x'.repeat(MIB)] as const);
  // Every text gets half of what is left, so that the last ones are short.
  const { bytes } = cut(Object.fromEntries(texts));
  expect(bytes / MIB).toBeGreaterThan(15.9);
  expect(bytes / MIB).toBeLessThanOrEqual(16);
});
