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

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

export interface RawStoreConfig {
  /** `s3://bucket[/prefix]`, or a folder. */
  location: string;
  s3: {
    endpoint?: string;
    region?: string;
    forcePathStyle?: boolean;
    credentials?: { accessKeyId: string; secretAccessKey: string };
    serverSideEncryption?: 'AES256' | 'aws:kms';
  };
}

/** What API and worker both need. */
export interface ServiceConfig {
  databaseUrl: string;
  rawStore: RawStoreConfig;
  logLevel: LogLevel;
  /** How long SIGTERM waits for work under way. */
  shutdownGraceMs: number;
  /** Connections to Postgres, beside the queue's few. */
  maxConnections: number;
}

/** Reads the settings that docs/operations.md lists. Throws ConfigError. */
export function readServiceConfig(environment: Environment): ServiceConfig {
  return {
    databaseUrl: requireText(
      environment,
      'DATABASE_URL',
      'Name a Postgres, e.g. postgres://user:password@host:5432/recount, or run `recount up`, which brings one.',
    ),
    rawStore: readRawStoreConfig(environment),
    logLevel: readChoice(environment, 'RECOUNT_LOG_LEVEL', LOG_LEVELS, 'info'),
    shutdownGraceMs: readInteger(environment, 'RECOUNT_SHUTDOWN_GRACE_MS', {
      fallback: 30_000,
      min: 0,
      max: 3_600_000,
    }),
    maxConnections: readInteger(environment, 'RECOUNT_DATABASE_CONNECTIONS', { fallback: 10, min: 1, max: 1000 }),
  };
}

/** Where figures of all workspaces are served, to whoever reaches the port: for operators, not for tenants. */
export interface MetricsConfig {
  host: string;
  port: number;
}

/** Undefined, which is the default: nowhere. Throws ConfigError. */
export function readMetricsConfig(
  environment: Environment,
  prefix: 'RECOUNT_METRICS' | 'RECOUNT_WORKER_METRICS',
): MetricsConfig | undefined {
  const port = readInteger(environment, `${prefix}_PORT`, { fallback: 0, min: 0, max: 65_535 });
  return port === 0 ? undefined : { host: readText(environment, `${prefix}_HOST`, '127.0.0.1'), port };
}

/** Throws ConfigError. */
export function readRawStoreConfig(environment: Environment): RawStoreConfig {
  return {
    location: requireText(environment, 'RECOUNT_RAW_STORE', 'Name a folder, or s3://bucket/prefix.'),
    s3: readS3Config(environment),
  };
}

/** Credentials left out come from the AWS SDK's own chain: environment, profile, instance role. Throws ConfigError. */
export function readS3Config(environment: Environment): RawStoreConfig['s3'] {
  const endpoint = readText(environment, 'S3_ENDPOINT');
  const region = readText(environment, 'S3_REGION') ?? readText(environment, 'AWS_REGION');
  const pathStyle = readChoice(environment, 'S3_FORCE_PATH_STYLE', ['true', 'false'], endpoint ? 'true' : 'false');
  const encryption = readChoice(environment, 'S3_ENCRYPTION', ['', 'AES256', 'aws:kms'], '');
  const accessKeyId = readText(environment, 'S3_ACCESS_KEY_ID');
  const credentials = accessKeyId !== undefined && {
    accessKeyId,
    secretAccessKey: requireText(environment, 'S3_SECRET_ACCESS_KEY', 'It goes with S3_ACCESS_KEY_ID.'),
  };
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    forcePathStyle: pathStyle === 'true',
    ...(credentials && { credentials }),
    ...(encryption !== '' && { serverSideEncryption: encryption }),
  };
}
