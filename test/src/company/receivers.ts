import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMessage {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

export interface Receivers {
  webhookUrl: string;
  mailUrl: string;
  /** Requests that were accepted, with a signature that is right. */
  messages: ReceivedMessage[];
  /** Requests that were refused, so that they come again. */
  refused: string[];
  /** Faults of requests. */
  faults: string[];
  mails: { id: string; subject: string }[];
  /** Checks the signatures of the webhook with the secret that the API returned. */
  setSecret(secret: string): void;
  close(): Promise<void>;
}

/** Every fifth message is refused at its first attempt. */
const REFUSED_EACH = 5;

/** A receiver of webhooks and a mail server on loopback. */
export async function startReceivers(): Promise<Receivers> {
  const [messages, refused, faults, mails]: [ReceivedMessage[], string[], string[], Receivers['mails']] = [
    [],
    [],
    [],
    [],
  ];
  let secret = '';
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const id = String(request.headers['webhook-id']);
    const signed = `${id}.${request.headers['webhook-timestamp']}.${body}`;
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const signature = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    if (request.headers['webhook-signature'] !== signature) faults.push(`${id} is not signed`);
    const isFirst = !refused.includes(id) && !messages.some((message) => message.id === id);
    if (isFirst && (messages.length + refused.length) % REFUSED_EACH === 0) {
      refused.push(id);
      response.writeHead(503).end();
      return;
    }
    messages.push({ id, ...(JSON.parse(body) as Omit<ReceivedMessage, 'id'>) });
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const smtp = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData: (stream, _session, done) => {
      text(stream).then((source) => {
        const read = (name: string): string =>
          new RegExp(`^${name}: (.*(?:\r\n[ \t].*)*)`, 'm').exec(source)?.[1] ?? '';
        mails.push({ id: read('Message-ID'), subject: read('Subject').replaceAll(/\r\n\s*/g, ' ') });
        done();
      }, done);
    },
  });
  smtp.on('error', () => undefined);
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', resolve));
  return {
    webhookUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    mailUrl: `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}`,
    messages,
    refused,
    faults,
    mails,
    setSecret: (told) => {
      secret = told;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await new Promise<void>((resolve) => smtp.close(() => resolve()));
    },
  };
}
