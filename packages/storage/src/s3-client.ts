import { S3Client } from '@aws-sdk/client-s3';

const DEFAULT_MAX_ATTEMPTS = 4;
const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;
const CONNECTION_TIMEOUT_MS = 10_000;

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

export interface S3ClientOptions {
  /** Left out: the SDK's own sources (AWS_REGION, shared configuration). */
  region?: string | undefined;
  /** URL of another server than AWS. */
  endpoint?: string | undefined;
  /** The bucket in the path, not in the host name. Left out: true with an endpoint. */
  forcePathStyle?: boolean | undefined;
  /** Left out: the SDK's own sources (environment, shared configuration, instance role). */
  credentials?: S3Credentials | undefined;
  /** Of each request, with growing pauses between. Left out: 4. */
  maxAttempts?: number | undefined;
  /** How long a request may go without a byte moving; its length is not limited. Left out: 60,000. */
  requestTimeoutMs?: number | undefined;
}

/** A client that works with AWS and with servers that lag behind it. */
export function createS3Client(options: S3ClientOptions): S3Client {
  const { region, endpoint, forcePathStyle, credentials } = options;
  return new S3Client({
    ...(region !== undefined && { region }),
    // AWS checks the sums that the SDK adds by default; other servers may reject them, or store them as content.
    ...(endpoint !== undefined && {
      endpoint,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    }),
    forcePathStyle: forcePathStyle ?? endpoint !== undefined,
    ...(credentials && { credentials: toSdkCredentials(credentials) }),
    // With it, each part of an upload would make a connection of its own, and wait for servers that do not know it.
    expectContinueHeader: false,
    maxAttempts: options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT_MS,
      // Not `requestTimeout`, which would end a slow upload of a part that is getting on.
      socketTimeout: options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
    },
  });
}

const toSdkCredentials = ({ accessKeyId, secretAccessKey, sessionToken }: S3Credentials) => ({
  accessKeyId,
  secretAccessKey,
  ...(sessionToken !== undefined && { sessionToken }),
});
