/**
 * JSON for a jsonb parameter. Halves of surrogate pairs, which jsonb refuses, become U+FFFD, as they do in a text
 * parameter.
 */
export function toJsonText(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) => (typeof field === 'string' ? field.toWellFormed() : field));
}
