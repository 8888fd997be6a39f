import type { OutlineTurn } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { memo, type ReactNode, useMemo } from 'react';
import { formatMoney } from '../../format/values.ts';

/** More would take long to lay out; the jump buttons reach the others. */
const MAX_PROMPTS = 500;

interface ShownPrompt {
  index: number;
  title: string;
  /** Dollars of its answers; null if one of them has usage without a price, or none has usage. */
  costUsd: number | null;
}

/** Prompts with the cost of what followed each. */
export function listPrompts(turns: readonly OutlineTurn[]): ShownPrompt[] {
  const prompts: (ShownPrompt & { isKnown: boolean })[] = [];
  for (const [index, { kind, title, context_tokens: context, cost_usd: cost }] of turns.entries()) {
    if (kind === 'prompt') prompts.push({ index, title: title ?? '…', costUsd: null, isKnown: true });
    const prompt = prompts.at(-1);
    if (kind !== 'answer' || prompt === undefined || (context === null && cost === null)) continue;
    if (cost === null) prompt.isKnown = false;
    prompt.costUsd = (prompt.costUsd ?? 0) + (cost ?? 0);
  }
  return prompts.map(({ isKnown, ...prompt }) => ({ ...prompt, costUsd: isKnown ? prompt.costUsd : null }));
}

/** The prompts of a session, beside its conversation. */
export const PromptOutline = memo(function PromptOutline({
  turns,
  goTo,
  current,
}: {
  turns: readonly OutlineTurn[];
  goTo: (index: number) => void;
  /** Index of the selected turn; -1: none. */
  current: number;
}): ReactNode {
  const prompts = useMemo(() => listPrompts(turns), [turns]);
  if (prompts.length < 2) return null;
  const open = prompts.findLast(({ index }) => index <= current)?.index;
  return (
    <nav className="prompt-outline" aria-label="Prompts">
      <ol>
        {prompts.slice(0, MAX_PROMPTS).map(({ index, title, costUsd }) => (
          <li key={index}>
            <button
              type="button"
              className="quiet"
              aria-current={index === open ? 'true' : undefined}
              onClick={() => goTo(index)}
            >
              <span className="clip">{toVisible(title)}</span>
              {costUsd !== null && <span className="muted">{formatMoney(costUsd)}</span>}
            </button>
          </li>
        ))}
      </ol>
      {prompts.length > MAX_PROMPTS && (
        <p className="muted">{(prompts.length - MAX_PROMPTS).toLocaleString()} later prompts are not listed.</p>
      )}
    </nav>
  );
});
