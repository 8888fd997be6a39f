import { type Header, pack } from 'tar-stream';

export interface TarMember {
  name: string;
  content?: string | Buffer;
  type?: Header['type'];
  linkname?: string;
  modifiedAtMs?: number;
  pax?: Record<string, string>;
}

export async function createTar(members: readonly TarMember[]): Promise<Buffer> {
  const archive = pack();
  for (const { name, content = '', type = 'file', linkname, modifiedAtMs = 0, pax } of members) {
    const header = { name, type, mtime: new Date(modifiedAtMs), ...(linkname && { linkname }), ...(pax && { pax }) };
    archive.entry(header, content);
  }
  archive.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of archive) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}
