import { Socket } from 'node:net';
import { AlertDeliveryError } from './alert-delivery-error.ts';

export interface MailServer {
  /** `smtp://user:password@host:587`, `smtps://…:465`. */
  url: string;
  /** Address of the sender. */
  from: string;
}

export interface Mail {
  /** Receivers and their servers tell repeated mails by it. */
  id: string;
  to: readonly string[];
  subject: string;
  text: string;
  html?: string | undefined;
}

const CONNECT_TIMEOUT_MS = 10_000;

interface MailLimits {
  /** Ends a step of the conversation that takes longer. */
  timeoutMs: number;
  /** Ends the attempt. */
  signal?: AbortSignal;
}

/**
 * Sends one e-mail to all its recipients. Rejects with AlertDeliveryError. The connection is closed by then, also if the
 * server never answers.
 */
export async function sendEmail(
  { url, from }: MailServer,
  mail: Mail,
  { timeoutMs, signal }: MailLimits,
): Promise<void> {
  const { createTransport } = await import('nodemailer');
  const { id, to, subject, text, html } = mail;
  const timeouts = {
    connectionTimeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    greetingTimeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    socketTimeout: timeoutMs,
  };
  const socket = new Socket();
  const transport = createTransport({ url, socket, ...timeouts, disableFileAccess: true, disableUrlAccess: true });
  const host = from.replace(/^.*@/, '').replace(/[^\w.-]/g, '');
  const messageId = `<${id}@${host}>`;
  const stop = (): unknown => socket.destroy();
  signal?.addEventListener('abort', stop);
  try {
    const content = { subject, text, ...(html !== undefined && { html }) };
    const { rejected } = await transport.sendMail({ from, to: [...to], messageId, ...content });
    // The others have it, and would get it again with each attempt.
    const reason = `The mail server refused ${rejected.length} of ${to.length} recipients`;
    if (rejected.length > 0) throw new AlertDeliveryError(reason, { isFinal: true });
  } catch (error) {
    if (error instanceof AlertDeliveryError) throw error;
    throw new AlertDeliveryError(describe(error as { code?: unknown; responseCode?: unknown }));
  } finally {
    signal?.removeEventListener('abort', stop);
    transport.close();
    socket.destroy();
  }
}

/** The text of the server's answer is left out. */
function describe({ code, responseCode }: { code?: unknown; responseCode?: unknown }): string {
  const status = typeof responseCode === 'number' ? ` with ${responseCode}` : '';
  const kind = typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? ` (${code})` : '';
  return `The mail server did not accept it${status}${kind}`;
}
