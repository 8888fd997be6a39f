import { ConfigError } from '@recount/service/config';
import { describe, expect, it } from 'vitest';
import { readApiConfig } from './config.ts';

const required = { DATABASE_URL: 'postgres://localhost/recount', RECOUNT_RAW_STORE: '/srv/raw' };

describe('readApiConfig', () => {
  it('needs only a database and a store, and listens on loopback only', () => {
    expect(readApiConfig(required)).toMatchObject({
      host: '127.0.0.1',
      port: 7878,
      maxTranscriptBytes: 2 * 1024 ** 3,
      metrics: undefined,
      isTraced: false,
      trustProxy: undefined,
      live: { maxOpenStreams: 100, maxStreamBytes: 256 * 1024 ** 2, idleTimeoutMs: 900_000 },
    });
  });

  it('has the limits that docs/security.md names', () => {
    expect(readApiConfig(required)).toMatchObject({
      maxClientConnections: 4096,
      maxRequestsPerMinute: 60_000,
      maxFailedKeysPerMinute: 30,
      maxConcurrentUploads: 16,
      maxTranscriptBytes: 2 * 1024 ** 3,
      uploadIdleTimeoutMs: 60_000,
      exportStallTimeoutMs: 60_000,
      live: { maxOpenStreams: 100 },
    });
  });

  it('reads every setting', () => {
    const environment = {
      ...required,
      RECOUNT_HOST: '0.0.0.0',
      RECOUNT_PORT: '0',
      RECOUNT_MAX_CLIENT_CONNECTIONS: '9',
      RECOUNT_MAX_TRANSCRIPT_BYTES: '4096',
      RECOUNT_MAX_CONCURRENT_UPLOADS: '3',
      RECOUNT_UPLOAD_IDLE_TIMEOUT_MS: '5000',
      RECOUNT_MAX_REQUESTS_PER_MINUTE: '7',
      RECOUNT_REPORT_TIMEOUT_MS: '1818',
      RECOUNT_MAX_FAILED_KEYS_PER_MINUTE: '8',
      RECOUNT_TRUST_PROXY: '10.0.0.0/8',
      RECOUNT_METRICS_HOST: '10.0.0.1',
      RECOUNT_METRICS_PORT: '9464',
      RECOUNT_LIVE_MAX_STREAMS: '11',
      RECOUNT_LIVE_MAX_STREAM_BYTES: '1212',
      RECOUNT_LIVE_MAX_HELD_BYTES: '2121',
      RECOUNT_LIVE_IDLE_TIMEOUT_MS: '1313',
      RECOUNT_LIVE_EVENT_RETENTION_MS: '14',
      RECOUNT_LIVE_MAX_READERS: '15',
      RECOUNT_LIVE_HEARTBEAT_MS: '1616',
      RECOUNT_LIVE_SLOW_READER_TIMEOUT_MS: '1717',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    };
    expect(readApiConfig(environment)).toMatchObject({
      host: '0.0.0.0',
      port: 0,
      maxClientConnections: 9,
      maxTranscriptBytes: 4096,
      maxConcurrentUploads: 3,
      uploadIdleTimeoutMs: 5000,
      maxRequestsPerMinute: 7,
      reportTimeoutMs: 1818,
      maxFailedKeysPerMinute: 8,
      trustProxy: '10.0.0.0/8',
      metrics: { host: '10.0.0.1', port: 9464 },
      isTraced: true,
      live: {
        maxOpenStreams: 11,
        maxStreamBytes: 1212,
        maxHeldBytes: 2121,
        idleTimeoutMs: 1313,
        eventRetentionMs: 14,
        maxReaders: 15,
        heartbeatMs: 1616,
        slowReaderTimeoutMs: 1717,
      },
    });
  });

  it.each([
    { RECOUNT_PORT: '70000' },
    { RECOUNT_MAX_TRANSCRIPT_BYTES: '2 GiB' },
    { RECOUNT_METRICS_PUBLIC: 'true' },
    { RECOUNT_METRICS_PORT: 'http' },
    { RECOUNT_LIVE_MAX_STREAMS: '0' },
    { DATABASE_URL: '' },
  ])('refuses %j', (change) => {
    expect(() => readApiConfig({ ...required, ...change })).toThrow(ConfigError);
  });

  it('lists all errors together, with the allowed values', () => {
    const environment = {
      DATABASE_URL: ' ',
      RECOUNT_RAW_STORE: '/srv/raw',
      RECOUNT_PORT: '1.5',
      RECOUNT_LOG_LEVEL: 'loud',
    };
    const message = [
      'DATABASE_URL is not set. Name a Postgres, e.g. postgres://user:password@host:5432/recount, or run `recount up`, which includes one.',
      'RECOUNT_LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud"',
      'RECOUNT_PORT must be a whole number from 0 to 65535, not "1.5"',
    ];
    expect(() => readApiConfig(environment)).toThrow(message.join('\n'));
  });

  it('requires the secret for an access key', () => {
    expect(() => readApiConfig({ ...required, S3_ACCESS_KEY_ID: 'a' })).toThrow('S3_SECRET_ACCESS_KEY is not set');
  });
});
