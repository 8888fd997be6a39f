import { z } from 'zod';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting is missing or invalid; the message says which one, what is wrong with it, and what is allowed. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** A whole number from `min` to `max`. */
export function integer(fallback: number, min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error }).default(fallback);
}

/** One of a few words. */
export function choice<const Choice extends string>(choices: readonly Choice[]) {
  return z.enum(choices, { error: `must be one of ${choices.join(', ')}` });
}

/** A required text; `hint` tells people what to set. */
export function requiredText(hint: string) {
  return z.string({ error: `is not set. ${hint}` });
}

export const port = (fallback: number) => integer(fallback, 0, 65_535);

/**
 * Reads the variables that are keys of `schema`. White space around a value is trimmed, and an empty value counts as
 * not set. Throws ConfigError with one line for each fault.
 */
export function readEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): z.output<Schema> {
  const set = new Map<string, string>();
  for (const name of Object.keys(schema.shape)) {
    const value = environment[name]?.trim();
    if (value) set.set(name, value);
  }
  const result = schema.safeParse(Object.fromEntries(set));
  if (result.success) return result.data;
  const faults = result.error.issues.map(({ path: [name], message }) => {
    const value = set.get(String(name));
    return `${String(name)} ${message}${value === undefined ? '' : `, not "${value}"`}`;
  });
  throw new ConfigError([...new Set(faults)].join('\n'));
}
