// require("ai"): the same functions as the globals.
module.exports = { ai, aiJSON };
