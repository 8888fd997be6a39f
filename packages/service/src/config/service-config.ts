import { z } from 'zod';
import { isTracingWanted } from '../telemetry/tracing.ts';
import { ConfigError, choice, type Environment, integer, port, readEnvironment, requiredText } from './environment.ts';

/** The variables of a store that may be S3. Defaults come from the AWS SDK's own chain. */
const s3Variables = {
  S3_ENDPOINT: z.string().optional().describe('URL of an S3 server other than AWS'),
  S3_REGION: z.string().optional().describe('region of the bucket'),
  AWS_REGION: z.string().optional().describe('region of the bucket if `S3_REGION` is not set'),
  S3_ACCESS_KEY_ID: z.string().optional().describe("without it, the AWS SDK's own chain (environment, profile, role)"),
  S3_SECRET_ACCESS_KEY: z.string().optional().describe('belongs to `S3_ACCESS_KEY_ID`'),
  S3_FORCE_PATH_STYLE: choice(['true', 'false'])
    .optional()
    .describe('bucket in the path instead of the host name; the default if `S3_ENDPOINT` is set'),
  S3_ENCRYPTION: choice(['AES256', 'aws:kms']).optional().describe("the default is the bucket's own setting"),
};

const rawStoreVariables = {
  RECOUNT_RAW_STORE: requiredText('Name a folder, or s3://bucket/prefix.').describe(
    '`s3://bucket/prefix`, or a folder (one machine, or a shared file system)',
  ),
  ...s3Variables,
};

const logVariables = {
  RECOUNT_LOG_LEVEL: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('lowest level that is logged'),
};

const databaseVariables = {
  DATABASE_URL: requiredText(
    'Name a Postgres, e.g. postgres://user:password@host:5432/recount, or run `recount up`, which includes one.',
  ).describe('`postgres://user:password@host:port/database`; PostgreSQL 15 or later'),
};

const priceVariables = {
  RECOUNT_PRICE_FILE: z
    .string()
    .refine((location) => !/^(?!https:)[a-z][a-z0-9+.-]+:\/\//i.test(location), 'must be a path or begin with https://')
    .optional()
    .describe('path or `https://` URL of a newer price list (genai-prices, LiteLLM); a URL is read every day'),
};

const alertVariables = {
  RECOUNT_SECRET_KEY: z
    .string()
    .optional()
    .describe(
      'encrypts secrets of destinations and of sign-ins: 32 bytes as base64, made by `openssl rand -base64 32`',
    ),
  RECOUNT_SMTP_URL: z
    .string()
    .optional()
    .describe('mail server for alerts and reports: `smtps://user:password@host:465` or `smtp://…:587`'),
  RECOUNT_SMTP_FROM: z.string().optional().describe('sender of these mails; goes with `RECOUNT_SMTP_URL`'),
  RECOUNT_ALERT_PRIVATE_NETWORKS: z
    .string()
    .optional()
    .describe('internal networks that webhooks may be sent to, such as `10.1.0.0/16`, separated by commas'),
};

/** The variables that API and worker share. */
export const serviceVariables = {
  ...databaseVariables,
  ...rawStoreVariables,
  ...logVariables,
  RECOUNT_SHUTDOWN_GRACE_MS: integer(30_000, 0, 3_600_000).describe('how long SIGTERM waits for running work'),
  RECOUNT_DATABASE_CONNECTIONS: integer(10, 1, 1000).describe('pool of one process'),
  ...priceVariables,
  ...alertVariables,
  OTEL_EXPORTER_OTLP_ENDPOINT: z.string().optional().describe('where traces are sent (OTLP over HTTP, JSON)'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: z.string().optional().describe('the same, for traces only'),
  OTEL_TRACES_EXPORTER: z.string().optional().describe('`none` means no traces'),
  OTEL_SDK_DISABLED: z.string().optional().describe('`true` means no traces'),
};

const serviceEnvironment = z.object(serviceVariables);

/** Settings that API and worker both need. */
export type ServiceConfig = ReturnType<typeof toServiceConfig>;

/** Throws ConfigError if S3's credentials are incomplete. */
export function toServiceConfig(environment: z.output<typeof serviceEnvironment>) {
  return {
    databaseUrl: environment.DATABASE_URL,
    rawStore: toRawStoreConfig(environment),
    logLevel: environment.RECOUNT_LOG_LEVEL,
    /** Time that SIGTERM waits for running work. */
    shutdownGraceMs: environment.RECOUNT_SHUTDOWN_GRACE_MS,
    /** Connections to Postgres, in addition to the queue's few. */
    maxConnections: environment.RECOUNT_DATABASE_CONNECTIONS,
    /** Path or HTTPS URL; undefined means the built-in list only. */
    priceFile: environment.RECOUNT_PRICE_FILE,
    alerts: toAlertConfig(environment),
    /** True if OpenTelemetry's variables ask for spans. */
    isTraced: isTracingWanted(environment),
  };
}

const SECRET_KEY_BYTES = 32;

/** Throws ConfigError, whose message contains no secret. */
function toAlertConfig(environment: z.output<z.ZodObject<typeof alertVariables>>) {
  const { RECOUNT_SECRET_KEY: key, RECOUNT_SMTP_URL: url, RECOUNT_SMTP_FROM: from } = environment;
  const secretKey = key === undefined ? undefined : Buffer.from(key, 'base64');
  if (secretKey !== undefined && secretKey.byteLength !== SECRET_KEY_BYTES) {
    throw new ConfigError(
      `RECOUNT_SECRET_KEY must be ${SECRET_KEY_BYTES} bytes as base64, as \`openssl rand -base64 32\` makes them`,
    );
  }
  const isMailUrl = url !== undefined && /^smtps?:$/.test(URL.parse(url)?.protocol ?? '');
  if (url !== undefined && !isMailUrl) throw new ConfigError('RECOUNT_SMTP_URL must begin with smtp:// or smtps://');
  if ((url === undefined) !== (from === undefined)) {
    throw new ConfigError('RECOUNT_SMTP_URL and RECOUNT_SMTP_FROM go together: set both, or neither');
  }
  const networks = environment.RECOUNT_ALERT_PRIVATE_NETWORKS?.split(',').map((network) => network.trim()) ?? [];
  return {
    /** Encrypts secrets of destinations and of sign-ins; undefined: none can be stored or used. */
    secretKey,
    /** Undefined: no e-mail can be sent. */
    mailServer: url === undefined || from === undefined ? undefined : { url, from },
    /** Internal networks that may be sent to. */
    privateNetworks: networks,
  };
}

/** Throws ConfigError. */
export function readServiceConfig(environment: Environment): ServiceConfig {
  return toServiceConfig(readEnvironment(serviceEnvironment, environment));
}

export type RawStoreConfig = ReturnType<typeof toRawStoreConfig>;

const rawStoreEnvironment = z.object(rawStoreVariables);

function toRawStoreConfig(environment: z.output<typeof rawStoreEnvironment>) {
  /** `s3://bucket[/prefix]`, or a folder. */
  return { location: environment.RECOUNT_RAW_STORE, s3: toS3Config(environment) };
}

/** Throws ConfigError. */
export function readRawStoreConfig(environment: Environment): RawStoreConfig {
  return toRawStoreConfig(readEnvironment(rawStoreEnvironment, environment));
}

const s3Environment = z.object(s3Variables);

function toS3Config(environment: z.output<typeof s3Environment>) {
  const { S3_ENDPOINT: endpoint, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  const region = environment.S3_REGION ?? environment.AWS_REGION;
  if (accessKeyId !== undefined && secretAccessKey === undefined) {
    throw new ConfigError('S3_SECRET_ACCESS_KEY is not set. It goes with S3_ACCESS_KEY_ID.');
  }
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    forcePathStyle: (environment.S3_FORCE_PATH_STYLE ?? String(endpoint !== undefined)) === 'true',
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
    ...(environment.S3_ENCRYPTION !== undefined && { serverSideEncryption: environment.S3_ENCRYPTION }),
  };
}

/** Throws ConfigError. */
export function readS3Config(environment: Environment): RawStoreConfig['s3'] {
  return toS3Config(readEnvironment(s3Environment, environment));
}

/** For programs without other settings. Throws ConfigError. */
export function readLogLevel(environment: Environment): ServiceConfig['logLevel'] {
  return readEnvironment(z.object(logVariables), environment).RECOUNT_LOG_LEVEL;
}

/** For programs that need only the database. Throws ConfigError. */
export function readDatabaseUrl(environment: Environment): string {
  return readEnvironment(z.object(databaseVariables), environment).DATABASE_URL;
}

/** The address for figures of all workspaces, without authentication. For operators, not for tenants. */
export const metricsVariables = {
  port: port(0).describe('port of /metrics, served without a key, with figures of all workspaces; 0: not served'),
  host: z.string().default('127.0.0.1').describe('listen address of /metrics'),
};

/** Undefined means not served. */
export function toMetricsConfig(host: string, port: number): { host: string; port: number } | undefined {
  return port === 0 ? undefined : { host, port };
}
