import { S3Client } from '@aws-sdk/client-s3';

const DEFAULT_MAX_ATTEMPTS = 4;
const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;
const CONNECTION_TIMEOUT_MS = 10_000;

interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

export interface S3ClientOptions {
  /** Defaults to the SDK's own sources (AWS_REGION, shared configuration). */
  region?: string | undefined;
  /** URL of a server other than AWS. */
  endpoint?: string | undefined;
  /** Puts the bucket into the path instead of the host name. Defaults to true with an endpoint. */
  forcePathStyle?: boolean | undefined;
  /** Defaults to the SDK's own sources (environment, shared configuration, instance role). */
  credentials?: S3Credentials | undefined;
  /** Attempts for each request, with growing pauses between them. Default: 4. */
  maxAttempts?: number | undefined;
  /** Time that a request may go without transferring a byte; its total time is not limited. Default: 60,000. */
  requestTimeoutMs?: number | undefined;
}

/** A client that works with AWS, and with servers that support less than AWS. */
export function createS3Client(options: S3ClientOptions): S3Client {
  const { region, endpoint, forcePathStyle, credentials } = options;
  return new S3Client({
    ...(region !== undefined && { region }),
    // The SDK adds checksums by default. AWS verifies them, but other servers may reject them or store them as content.
    ...(endpoint !== undefined && {
      endpoint,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    }),
    forcePathStyle: forcePathStyle ?? endpoint !== undefined,
    ...(credentials && { credentials: toSdkCredentials(credentials) }),
    // With `Expect: 100-continue`, each part of an upload would open a new connection, and wait for servers that do not
    // support it.
    expectContinueHeader: false,
    maxAttempts: options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT_MS,
      // Not `requestTimeout`, which would end a slow upload that is still making progress.
      socketTimeout: options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
    },
  });
}

const toSdkCredentials = ({ accessKeyId, secretAccessKey, sessionToken }: S3Credentials) => ({
  accessKeyId,
  secretAccessKey,
  ...(sessionToken !== undefined && { sessionToken }),
});
