import { MAX_UPLOAD_FILES, UPLOAD_ENCODINGS } from '@recount/contract';

const bytes = { type: 'string', contentMediaType: 'application/x-ndjson' };

/** The `requestBody` of POST /v1/transcripts; it is streamed, so no schema validates it. */
export const uploadRequestBody = {
  required: true,
  description: [
    'One transcript as it is: any Content-Type will do.',
    `It may be compressed: \`Content-Encoding: ${UPLOAD_ENCODINGS.join('`, `')}\`.`,
    `Or \`multipart/form-data\` with up to ${MAX_UPLOAD_FILES} files, not compressed:`,
    'the file name of each part is its path.',
    'A field `session_id` may come before the file where there is only one.',
  ].join(' '),
  content: {
    'application/x-ndjson': { schema: bytes },
    'application/jsonl': { schema: bytes },
    'application/octet-stream': { schema: bytes },
    'multipart/form-data': {
      schema: {
        type: 'object',
        properties: {
          session_id: { type: 'string', description: 'Overrules what path and content say; only with one file' },
          file: { type: 'array', items: bytes, description: 'The field name does not matter' },
        },
        required: ['file'],
      },
    },
  },
};
