const BOUNDARY = 'boundary-of-the-test';
export const MULTIPART_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

export interface TestPart {
  name?: string;
  filename?: string;
  content: string | Uint8Array;
}

/** A multipart/form-data body, byte for byte as curl sends it. */
export function toMultipart(parts: TestPart[], end = `--${BOUNDARY}--\r\n`): Buffer {
  const chunks = parts.flatMap(({ name = 'file', filename, content }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`;
    const type = filename === undefined ? '' : 'Content-Type: application/octet-stream\r\n';
    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${type}\r\n`;
    return [Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')];
  });
  return Buffer.concat([...chunks, Buffer.from(end)]);
}
