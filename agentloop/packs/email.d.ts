/** Sends one e-mail as plain text. Needs approval, which shows to whom and about what. */
declare function sendEmail(message: { to: string, subject?: string, body?: string }): true;
