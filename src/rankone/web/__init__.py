"""The service: live experiments over HTTP, and a page to watch them. A thin shell over `rankone.Experiment`."""
