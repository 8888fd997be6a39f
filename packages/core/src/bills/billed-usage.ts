import type { BillVendor } from './bill.ts';

/** Agents whose requests their own vendor bills, whatever the model. */
const VENDORS_BY_AGENT: ReadonlyMap<string | null, BillVendor> = new Map([
  ['copilot', 'github'],
  ['cursor', 'cursor'],
]);

const VENDORS_BY_MODEL: readonly (readonly [RegExp, BillVendor])[] = [
  [/^claude/, 'anthropic'],
  [/^(gpt|chatgpt|codex|o\d)/, 'openai'],
];

/** The vendor on whose bill usage may be, if it went to the maker of the model; undefined if it is on none that is read. */
export function findBillVendor(agent: string | null, model: string | null): BillVendor | undefined {
  const name = toBilledModel(model) ?? '';
  return VENDORS_BY_AGENT.get(agent) ?? VENDORS_BY_MODEL.find(([pattern]) => pattern.test(name))?.[1];
}

/** A name that bill and transcripts share: in lower case, without a provider before it, or a date after it. */
export function toBilledModel(model: string | null): string | null {
  if (model === null) return null;
  return model
    .toLowerCase()
    .replace(/^.*\//, '')
    .replace(/\[[^\]]*\]$/, '')
    .replace(/[-@]20\d\d-?[01]\d-?[0-3]\d$/, '');
}
