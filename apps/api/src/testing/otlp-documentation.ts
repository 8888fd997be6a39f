type Operation = Record<string, unknown>;

const STATUS = {
  type: 'object',
  properties: {
    code: { type: 'integer', description: 'Of google.rpc.Code' },
    message: { type: 'string' },
  },
  required: ['code', 'message'],
};

/** Documents the bodies of the routes for OTLP, which no schema validates, and their errors, which are no problems. */
export function documentOtlp(paths: Record<string, Record<string, Operation>>): void {
  for (const [path, { post }] of Object.entries(paths)) {
    if (!path.startsWith('/v1/otlp/') || post === undefined) continue;
    post.requestBody = {
      required: true,
      description:
        'The export request of OTLP 1.7 for this path. It may be compressed: `Content-Encoding: gzip`. At most 8 MiB, 16 MiB decompressed; 20,000 log records, points of sums or spans are read.',
      content: {
        'application/x-protobuf': { schema: { type: 'string', contentMediaType: 'application/x-protobuf' } },
        'application/json': { schema: { type: 'object' } },
      },
    };
    for (const response of Object.values(post.responses as Record<string, Operation>)) {
      const isProblem = 'application/problem+json' in ((response.content as object | undefined) ?? {});
      if (isProblem) response.content = { 'application/json': { schema: STATUS } };
    }
  }
}
