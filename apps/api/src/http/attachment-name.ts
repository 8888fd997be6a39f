const MAX_NAME_LENGTH = 150;

/** A Content-Disposition that saves to a file named after `name`, whatever that holds. */
export function toAttachment(name: string, extension: string): string {
  const safeName = name.replace(/[^A-Za-z0-9._-]+/g, '_').replace(/^\.+/, '');
  return `attachment; filename="${safeName.slice(0, MAX_NAME_LENGTH) || 'transcript'}${extension}"`;
}
