import { expect, it } from 'vitest';
import type { ReaderContext } from './agent.ts';
import { compareTotal } from './compare-total.ts';

it('reports a stated total that differs from the counted one, with both figures', () => {
  const reports: string[] = [];
  const context: Pick<ReaderContext, 'report'> = {
    report: (code, severity, error) => reports.push(`${severity} ${code}: ${error}`),
  };
  compareTotal('Output tokens of the thread', 231, 231, context);
  compareTotal('Output tokens of the thread', 231, 187, context);
  expect(reports).toEqual(['warning total_mismatch: Output tokens of the thread: 231 stated, 187 counted']);
});
