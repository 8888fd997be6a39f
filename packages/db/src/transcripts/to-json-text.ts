/**
 * JSON for a jsonb parameter. Halves of surrogate pairs, which jsonb refuses, become U+FFFD, as they do in a text
 * parameter.
 */
export function toJsonText(value: unknown): string {
  const json = JSON.stringify(value);
  // Halves are escaped, and only they are, with these: most values have none, and asking for each string takes long.
  if (!json.includes('\\ud')) return json;
  return JSON.stringify(value, (_key, field: unknown) => (typeof field === 'string' ? field.toWellFormed() : field));
}
