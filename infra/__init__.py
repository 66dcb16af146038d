"""Where and when things run: ports, services, schedules. The only place that knows them."""
