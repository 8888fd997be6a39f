export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const toFields = (value: unknown): Fields => (isFields(value) ? value : {});
export const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const toText = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Texts of a message's content, which is a string or a list of parts; `types` are the parts that hold text. */
export function readTexts(content: unknown, types: readonly string[]): string[] {
  if (typeof content === 'string') return [content];
  return toList(content)
    .map(toFields)
    .filter(({ type }) => types.includes(toText(type)))
    .map(({ text }) => toText(text));
}
