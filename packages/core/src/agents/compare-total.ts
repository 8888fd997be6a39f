import type { ReaderContext } from './agent.ts';

/**
 * Reports `total_mismatch` if a total that the transcript states differs from the one counted. `what` names the total
 * and its unit, such as `Output tokens of the thread`; it never quotes the transcript. Callers apply the rules that
 * explain differences first. What is left is a fault of the transcript or of recount.
 */
export function compareTotal(
  what: string,
  stated: number,
  counted: number,
  { report }: Pick<ReaderContext, 'report'>,
): void {
  if (stated !== counted) report('total_mismatch', 'warning', `${what}: ${stated} stated, ${counted} counted`);
}
