import { z } from 'zod';
import { machineParameter, personParameter, text } from './fields.ts';

const MAX_CODE_LENGTH = 128;
export const DEVICE_GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';

const deviceScopes = z.enum(['ingest', 'read']);

export const deviceCodeRequestSchema = z
  .strictObject({
    client_id: text(MAX_CODE_LENGTH).optional().describe('As OAuth clients send it; ignored'),
    scope: z
      .string()
      .regex(/^(?:ingest|read|ingest read|read ingest)$/)
      .default('ingest')
      .describe('Requested scopes: `ingest`, `read`, or both with a space between them'),
    machine: machineParameter.describe('Name of the machine, which becomes the name of the key'),
  })
  .meta({ id: 'DeviceCodeRequest', description: 'A machine that asks for a key; form fields, as RFC 8628 has them' });

export const deviceCodeSchema = z
  .object({
    device_code: z.string().describe('Secret of the machine, which fetches its key with it'),
    user_code: z.string().describe('What an admin approves, such as `WDJB-MJHT`'),
    verification_uri: z.string().describe('Where an admin types it, in the dashboard'),
    expires_in: z.int().describe('Seconds until both codes end'),
    interval: z.int().describe('Seconds to wait between two questions for the key'),
  })
  .meta({ id: 'DeviceCode', description: 'Codes of a machine that asks for a key' });

export type DeviceCode = z.infer<typeof deviceCodeSchema>;

export const deviceTokenRequestSchema = z
  .strictObject({
    grant_type: z.literal(DEVICE_GRANT_TYPE),
    device_code: text(MAX_CODE_LENGTH).describe('As it was shown to the machine'),
    client_id: text(MAX_CODE_LENGTH).optional().describe('As OAuth clients send it; ignored'),
  })
  .meta({ id: 'DeviceTokenRequest', description: 'A machine that asks whether it has a key; form fields' });

export const deviceTokenSchema = z
  .object({
    access_token: z.string().describe('The API key, shown only once'),
    token_type: z.literal('Bearer'),
    scope: z.string().describe('What the key may do, with spaces between'),
  })
  .meta({ id: 'DeviceToken', description: 'The key of a machine' });

export type DeviceToken = z.infer<typeof deviceTokenSchema>;

export const deviceRefusalSchema = z
  .object({
    error: z.enum(['authorization_pending', 'slow_down', 'expired_token', 'access_denied']).describe('As in RFC 8628'),
  })
  .meta({ id: 'DeviceRefusal', description: 'Why there is no key yet, or will be none' });

export type DeviceRefusal = z.infer<typeof deviceRefusalSchema>;

export const deviceApprovalSchema = z
  .strictObject({
    user_code: text(MAX_CODE_LENGTH).describe('As the machine shows it; case, hyphens and spaces do not matter'),
    scopes: z
      .array(deviceScopes)
      .min(1)
      .max(2)
      .optional()
      .describe('By default, the scopes that the machine asked for'),
    person: personParameter.optional().describe('Owner of the machine. Its uploads are attributed to them'),
  })
  .meta({ id: 'DeviceApproval', description: 'A machine that may have a key of the workspace' });

export type DeviceApproval = z.input<typeof deviceApprovalSchema>;

export const approvedDeviceSchema = z
  .object({ machine: z.string(), scopes: z.array(deviceScopes) })
  .meta({ id: 'ApprovedDevice', description: 'The machine that now fetches its key' });

export type ApprovedDevice = z.infer<typeof approvedDeviceSchema>;
