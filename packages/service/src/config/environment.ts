export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting is missing or not what it should be; the message says which and what to do. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** A setting's text; an empty one counts as not set. Throws ConfigError where it is required and not set. */
export function readText(environment: Environment, name: string): string | undefined;
export function readText(environment: Environment, name: string, fallback: string): string;
export function readText(environment: Environment, name: string, fallback?: string): string | undefined {
  const value = environment[name]?.trim();
  return value === undefined || value === '' ? fallback : value;
}

export function requireText(environment: Environment, name: string, hint: string): string {
  const value = readText(environment, name);
  if (value === undefined) throw new ConfigError(`${name} is not set. ${hint}`);
  return value;
}

/** A whole number from `min` to `max`. Throws ConfigError for anything else. */
export function readInteger(
  environment: Environment,
  name: string,
  { fallback, min, max }: { fallback: number; min: number; max: number },
): number {
  const text = readText(environment, name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    throw new ConfigError(`${name} must be a whole number from ${min} to ${max}, not "${text}"`);
  }
  return value;
}

/** One of a few words. Throws ConfigError for anything else. */
export function readChoice<Choice extends string>(
  environment: Environment,
  name: string,
  choices: readonly Choice[],
  fallback: Choice,
): Choice {
  const text = readText(environment, name, fallback);
  const choice = choices.find((candidate) => candidate === text);
  if (choice === undefined) throw new ConfigError(`${name} must be one of ${choices.join(', ')}, not "${text}"`);
  return choice;
}
