// require("secret"): the one primitive under both of its names.
module.exports = { get: secret, secret };
